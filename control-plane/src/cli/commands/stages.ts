/** `sluice stage`: a version that some nodes run before the others. */
import { type Command, Option } from 'commander'
import { type RunAction, type Session, show } from '../session.ts'
import { table } from '../table.ts'
import { timeText } from '../values.ts'

interface Side {
  readonly requests: number
  readonly share5xx: number
  readonly p99Ms: number
}

interface Stage {
  readonly name: string
  readonly state: string
  readonly version: number
  readonly baseVersion: number
  readonly selector: string
  readonly reason: string
  readonly startedAt: string
  readonly endedAt: string | null
  readonly comparison: {
    readonly holdLeftMs: number
    readonly selected: Side
    readonly others: Side
  } | null
  readonly nodes: readonly {
    readonly name: string
    readonly state: string
    readonly version: number
  }[]
}

interface Stages {
  readonly items: readonly Stage[]
}

export function stageOption(): Option {
  return new Option(
    '--stage <plan>',
    'to some nodes first, like canary=label:site=berlin,hold=2m,max-5xx=1%,max-p99=+50%',
  )
}

export function addStageCommands(program: Command, run: RunAction): void {
  const stage = program
    .command('stage')
    .description('show versions that went to some nodes first, and decide about the open one')
  stage
    .command('show', { isDefault: true })
    .description('show the open stage and those that ended')
    .action(() =>
      run(async (session) => {
        show(session, (await session.admin.get('stages')) as Stages, stagesText)
      }),
    )
  const decisions = {
    promote: 'send the version to all nodes now',
    withdraw: 'go back to the version before, as a new version',
    pause: 'neither promote nor withdraw it until it is resumed',
    resume: 'go on; the hold begins anew',
  }
  for (const [decision, description] of Object.entries(decisions)) {
    const command = stage.command(decision).description(description)
    if (decision === 'pause') command.alias('stop')
    command.action(() => run((session) => decide(session, decision)))
  }
}

async function decide(session: Session, decision: string): Promise<void> {
  const { body } = await session.admin.send('POST', `stages/open/${decision}`)
  show(session, body as Stages, stagesText)
}

function stagesText({ items }: Stages): string {
  const [first] = items
  if (first === undefined) return 'no version was ever published in stages'
  return [
    table(
      ['STAGE', 'STATE', 'VERSION', 'BEFORE', 'NODES', 'STARTED', 'REASON'],
      items.map(({ name, state, version, baseVersion, selector, startedAt, reason }) => [
        name,
        state,
        version,
        baseVersion,
        selector,
        timeText(startedAt),
        reason,
      ]),
    ),
    ...(first.endedAt === null ? ['', openText(first)] : []),
  ].join('\n')
}

function openText({ comparison, nodes }: Stage): string {
  const lines = [
    table(
      ['NODE', 'STATE', 'VERSION'],
      nodes.map(({ name, state, version }) => [name, state, version]),
    ),
    '',
  ]
  if (comparison === null) return [...lines, 'its nodes do not all run it yet'].join('\n')
  const { holdLeftMs, selected, others } = comparison
  const row = (name: string, { requests, share5xx, p99Ms }: Side) => [
    name,
    requests,
    `${(share5xx * 100).toFixed(2)} %`,
    `${p99Ms.toFixed(1)} ms`,
  ]
  return [
    ...lines,
    table(['', 'REQUESTS', '5XX', 'P99'], [row('its nodes', selected), row('others', others)]),
    `${Math.ceil(holdLeftMs / 1_000)} s of its hold left`,
  ].join('\n')
}
