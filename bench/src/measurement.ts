/** One proxy under one scenario's load for some seconds, and what the kernel charged it for that. */

import { applySteadyLoad, type SteadyReport } from './load/steady.ts'
import { applyLoad } from './load/wrk.ts'
import { connectionsBegun, cpuSeconds, delayedSeconds } from './processor.ts'
import { BODY_BYTES, CONNECTIONS, HOST, type Scenario } from './scenarios.ts'
import type { Subject, SubjectName } from './subject.ts'

const STEADY_WARM_UP_SECONDS = 1

export interface Measurement {
  readonly subject: SubjectName
  readonly requestsPerSecond: number
  /** CPU per request. */
  readonly workerUs: number
  readonly supervisorUs: number
  /** Share of its CPU that the proxy used. */
  readonly busy: number
  /** Share of the time in which the worker had work and other programs had its CPU. */
  readonly delayed: number
  readonly steady?: SteadyReport
}

interface Answers {
  readonly requests: number
  readonly seconds: number
  readonly steady?: SteadyReport
}

export async function measure(
  subject: Subject,
  scenario: Scenario,
  { cpus, seconds }: { readonly cpus: string; readonly seconds: number },
): Promise<Measurement> {
  const { worker, supervisor } = subject
  const before = usageOf(worker, supervisor)
  const begunBefore = connectionsBegun()
  const answers = await load(subject.ports[scenario.protocol], scenario, { cpus, seconds })
  const after = usageOf(worker, supervisor)
  const begun = connectionsBegun() - begunBefore
  if (scenario.isNewConnection && begun < answers.requests) {
    throw new Error(`${subject.name}: ${answers.requests} requests came over ${begun} connections`)
  }
  const workerSeconds = after.worker - before.worker
  const supervisorSeconds = after.supervisor - before.supervisor
  const delayed = after.delayed - before.delayed
  return {
    subject: subject.name,
    requestsPerSecond: answers.requests / answers.seconds,
    workerUs: (workerSeconds / answers.requests) * 1e6,
    supervisorUs: (supervisorSeconds / answers.requests) * 1e6,
    busy: (workerSeconds + supervisorSeconds) / answers.seconds,
    delayed: delayed / (delayed + workerSeconds),
    ...(answers.steady === undefined ? {} : { steady: answers.steady }),
  }
}

/** The origin itself may be asked, too: what it reaches bounds every proxy. */
export async function load(
  port: number,
  { file, protocol, isNewConnection, perSecond }: Scenario,
  { cpus, seconds }: { readonly cpus: string; readonly seconds: number },
): Promise<Answers> {
  const path = `/${file}`
  if (perSecond === undefined) {
    const url = `${protocol}://${HOST}:${port}${path}`
    return applyLoad({ cpus, connections: CONNECTIONS, url, isNewConnection }, seconds)
  }
  const steady = await applySteadyLoad(cpus, {
    port,
    host: HOST,
    path,
    bodyBytes: BODY_BYTES[file],
    connections: CONNECTIONS,
    perSecond,
    seconds,
    warmUpSeconds: STEADY_WARM_UP_SECONDS,
  })
  if (steady.answered === 0) throw new Error('the steady generator got no answer')
  return { requests: steady.answered, seconds: seconds + STEADY_WARM_UP_SECONDS, steady }
}

function usageOf(worker: number, supervisor: number | undefined) {
  return {
    worker: cpuSeconds(worker),
    supervisor: supervisor === undefined ? 0 : cpuSeconds(supervisor),
    delayed: delayedSeconds(worker),
  }
}
