/** What the rounds say together, as figures and as text. */
import { type Spread, spreadOf } from './statistics.ts'

export const CONNECTIONS = 64
export const RATIO_MAX = 1.5
/** Below this share of its CPU a proxy waited for the client or the origin. */
const BUSY_MIN = 0.85

export interface Measurement {
  readonly subject: 'sluice' | 'nginx'
  readonly requestsPerSecond: number
  readonly workerMicroseconds: number
  readonly supervisorMicroseconds: number
  readonly busy: number
}

export interface Machine {
  readonly proxyCpu: string
  readonly otherCpus: string
  readonly versions: Readonly<Record<string, string>>
}

export interface Result {
  readonly directRequestsPerSecond: number
  readonly rounds: readonly (readonly Measurement[])[]
}

export interface Report {
  readonly workerRatio: Spread
  readonly nodeRatio: Spread
  readonly sluice: Figures
  readonly nginx: Figures
}

interface Figures {
  readonly workerMicroseconds: Spread
  readonly supervisorMicroseconds: Spread
  readonly requestsPerSecond: Spread
  readonly busy: Spread
}

export function summarise({ rounds }: Result): Report {
  const of = (name: Measurement['subject']) => rounds.flat().filter((one) => one.subject === name)
  const sluice = of('sluice')
  const nginx = of('nginx')
  const ratios = (cost: (one: Measurement) => number) =>
    spreadOf(sluice.map((one, round) => cost(one) / (nginx[round]?.workerMicroseconds ?? 0)))
  return {
    workerRatio: ratios((one) => one.workerMicroseconds),
    nodeRatio: ratios((one) => one.workerMicroseconds + one.supervisorMicroseconds),
    sluice: figuresOf(sluice),
    nginx: figuresOf(nginx),
  }
}

function figuresOf(measured: readonly Measurement[]): Figures {
  const spread = (figure: (one: Measurement) => number) => spreadOf(measured.map(figure))
  return {
    workerMicroseconds: spread((one) => one.workerMicroseconds),
    supervisorMicroseconds: spread((one) => one.supervisorMicroseconds),
    requestsPerSecond: spread((one) => one.requestsPerSecond),
    busy: spread((one) => one.busy),
  }
}

export function render(report: Report, machine: Machine, result: Result): string {
  const { sluice, nginx, workerRatio, nodeRatio } = report
  const versions = Object.entries(machine.versions).map(([name, value]) => `${name} ${value}`)
  const isMet = workerRatio.median <= RATIO_MAX
  const isIdle = Math.min(sluice.busy.median, nginx.busy.median) < BUSY_MIN
  const lines = [
    '',
    `CPU per request, 1 KiB, keep-alive, ${CONNECTIONS} connections, ${result.rounds.length} rounds`,
    `  sluice worker      ${micro(sluice.workerMicroseconds)}`,
    `  sluice supervisor  ${micro(sluice.supervisorMicroseconds)}`,
    `  nginx worker       ${micro(nginx.workerMicroseconds)}`,
    `Requests per second (median): sluice ${whole(sluice.requestsPerSecond.median)}, nginx ${whole(nginx.requestsPerSecond.median)}, origin alone ${whole(result.directRequestsPerSecond)}`,
    `Share of its CPU used (median): sluice ${percent(sluice.busy.median)}, nginx ${percent(nginx.busy.median)}`,
    ...(isIdle
      ? ['Note: a proxy waited for the client or the origin; ratios are still per request.']
      : []),
    `Worker and supervisor together: ${ratio(nodeRatio)} × nginx`,
    `With: ${versions.join(', ')}; proxy on CPU ${machine.proxyCpu}, the rest on ${machine.otherCpus}`,
    'The machine is shared: trust the ratios within this run, not the figures alone.',
    `Verdict: one worker uses ${ratio(workerRatio)} × the CPU of nginx; at most ${RATIO_MAX} wanted: ${isMet ? 'met' : 'NOT met'}`,
    '',
  ]
  return lines.join('\n')
}

function micro({ median, least, most }: Spread): string {
  return `${median.toFixed(1)} µs (${least.toFixed(1)} to ${most.toFixed(1)})`
}

function ratio({ median, least, most }: Spread): string {
  return `${median.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})`
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en')
}

function percent(value: number): string {
  return `${Math.round(value * 100)} %`
}
