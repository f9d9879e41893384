/** `sluice explain`: what nodes would do with a request, and why. */
import { type Command, InvalidArgumentError } from 'commander'
import { type RunAction, show } from '../session.ts'
import { table } from '../table.ts'
import { parseCount } from '../values.ts'

interface Explanation {
  readonly version: number
  readonly reason: string
  readonly request: Readonly<Record<'host' | 'path' | 'method' | 'client', string>>
  readonly entryPoint: Readonly<Record<'name' | 'address' | 'protocol', string>> | null
  readonly otherEntryPoints: readonly string[]
  readonly router: { readonly name: string; readonly priority: number } | null
  readonly nearRouters: readonly { readonly name: string; readonly reason: string }[]
  readonly service: string | null
  readonly servers: readonly { readonly url: string; readonly share: number }[]
  readonly certificate: { readonly name: string; readonly isDefault: boolean } | null
}

interface ExplainOptions {
  readonly header: Readonly<Record<string, string>>
  readonly request?: string
  readonly from?: string
  readonly entryPoint?: string
  readonly version?: number
  readonly node?: string
}

export function addExplainCommand(program: Command, run: RunAction): void {
  program
    .command('explain')
    .argument('<url>', 'the request, like https://shop.example/cart')
    .option(
      '-H, --header <field>',
      "a field like 'Host: shop.example' (repeatable)",
      collectField,
      {},
    )
    .option('-X, --request <method>', 'the method (default: GET)')
    .option('--from <address>', 'address of the client')
    .option('--entry-point <name>', 'where it comes in (default: by scheme and port)')
    .option('--version <number>', 'in this version (default: the newest)', parseCount)
    .option('--node <name>', 'in the version that this node runs')
    .description('show which entry point, router, service, servers and certificate a request gets')
    .action((url: string, { header: headers, request: method, ...options }: ExplainOptions) =>
      run(async (session) => {
        const body = { url, headers, method, ...options }
        const answer = await session.admin.send('POST', 'explain', { body })
        show(session, answer.body as Explanation, explanationText)
      }),
    )
}

function collectField(text: string, fields: Readonly<Record<string, string>>) {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(text) ?? []
  if (name === undefined || value === undefined) {
    throw new InvalidArgumentError("It is not a field like 'Host: shop.example'.")
  }
  return { ...fields, [name]: value }
}

function explanationText(explanation: Explanation): string {
  const { version, reason, request, entryPoint, otherEntryPoints, router } = explanation
  const { nearRouters, service, servers, certificate } = explanation
  const others = otherEntryPoints.length === 0 ? '' : `, or ${otherEntryPoints.join(', ')}`
  const lines = [
    ['version', String(version)],
    ['request', `${request.method} ${request.host}${request.path} from ${request.client || '?'}`],
    ['entry point', entryPoint && `${entryPoint.name} (${entryPoint.address})${others}`],
    [
      'certificate',
      certificate && `${certificate.name}${certificate.isDefault ? ' (default)' : ''}`,
    ],
    ['router', router && `${router.name} (priority ${router.priority})`],
    ['service', service],
    ...servers.map(({ url, share }) => ['server', `${url} (${(share * 100).toFixed(0)} %)`]),
  ]
  const told = lines.map(([what, value]) => `${String(what).padEnd(12)} ${value ?? '-'}`)
  const near = nearRouters.map(({ name, reason: why }) => [name, why])
  const nearly = near.length === 0 ? [] : ['', table(['NEAR ROUTER', 'WHY NOT'], near)]
  return [reason, ...told, ...nearly].join('\n')
}
