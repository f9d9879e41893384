/** `sluice status`: the newest version and how much of the fleet runs it. */
import type { Command } from 'commander'
import { type RunAction, show } from '../session.ts'
import { timeText } from '../values.ts'

interface Status {
  readonly version: number
  readonly hash: string
  readonly publishedAt: string | null
  readonly nodes: Readonly<
    Record<'total' | 'connected' | 'inSync' | 'rejected' | 'lost' | 'revoked', number>
  >
  readonly counts: Readonly<Record<'entryPoints' | 'routers' | 'services' | 'certificates', number>>
  readonly startedAt: string
  readonly softwareVersion: string
}

export function addStatusCommand(program: Command, run: RunAction): void {
  program
    .command('status')
    .description('show the newest version and how much of the fleet runs it')
    .action(() =>
      run(async (session) => {
        show(session, (await session.admin.get('status')) as Status, statusText)
      }),
    )
}

function statusText({
  version,
  hash,
  publishedAt,
  nodes,
  counts,
  startedAt,
  softwareVersion,
}: Status) {
  const published = publishedAt ? `, published ${timeText(publishedAt)}` : ''
  return [
    `control plane  ${softwareVersion}, started ${timeText(startedAt)}`,
    version === 0
      ? 'version        none published yet'
      : `version        ${version} (${hash.slice(0, 12)}${published})`,
    `nodes          ${nodes.total}: ${nodes.connected} connected, ${nodes.inSync} in sync, ` +
      `${nodes.rejected} rejected, ${nodes.lost} lost, ${nodes.revoked} revoked`,
    `resources      ${counts.entryPoints} entry points, ${counts.routers} routers, ` +
      `${counts.services} services, ${counts.certificates} certificates`,
  ].join('\n')
}
