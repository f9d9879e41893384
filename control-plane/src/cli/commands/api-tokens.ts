/** `sluice api-token`: tokens for programs that use the admin API. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { type RunAction, show } from '../session.ts'
import { table } from '../table.ts'
import { labelsText, parseDuration, parseSelector, timeText } from '../values.ts'

interface Scope {
  readonly kinds: readonly string[]
  readonly access: string
  readonly selector: Readonly<Record<string, string>>
}

interface ApiToken {
  readonly name: string
  readonly role: string
  readonly scopes: readonly Scope[] | null
  readonly expiresAt: string | null
  readonly usedAt: string | null
  /** Only in the answer to its creation. */
  readonly token?: string
}

interface CreateOptions {
  readonly role: string
  readonly scope?: readonly Scope[]
  readonly expires?: number
}

export function addApiTokenCommands(program: Command, run: RunAction): void {
  const token = program.command('api-token').description('tokens for programs that use the API')
  token
    .command('create <name>')
    .description('make an API token and print it; it is shown this once')
    .addOption(
      new Option('--role <role>', 'what it may do at most')
        .choices(['admin', 'editor', 'viewer'])
        .makeOptionMandatory(),
    )
    .option(
      '--scope <scope>',
      'read or write, kinds, labels of what may be written, like write:router,service:team=a (repeatable; default: all that the role may)',
      collectScope,
    )
    .option('--expires <duration>', 'how long it can be used (default: always)', parseDuration)
    .action((name: string, { role, scope, expires }: CreateOptions) =>
      run(async (session) => {
        const { body } = await session.admin.send('POST', 'api-tokens', {
          body: {
            name,
            role,
            ...(scope !== undefined && { scopes: scope }),
            ...(expires !== undefined && { expiresInSeconds: expires / 1_000 }),
          },
        })
        show(session, body as ApiToken, (created) => created.token ?? '')
      }),
    )
  token
    .command('list')
    .description('list the API tokens')
    .action(() =>
      run(async (session) => {
        show(session, (await session.admin.get('api-tokens')) as ApiTokens, tokensText)
      }),
    )
  token
    .command('revoke <name>')
    .description('make an API token unusable')
    .action((name: string) =>
      run(async (session) => {
        await session.admin.send('DELETE', `api-tokens/${encodeURIComponent(name)}`)
        show(session, { name, change: 'revoked' }, () => `API token ${name} revoked`)
      }),
    )
}

/** `write:router,service:team=a`; kinds and labels may be left out. */
function collectScope(text: string, scopes: readonly Scope[] = []): Scope[] {
  const [, access, kinds = '', labels = ''] =
    /^(read|write)(?::([^:]*))?(?::(.+))?$/.exec(text) ?? []
  if (access === undefined) {
    throw new InvalidArgumentError('It is not a scope like read, write:router or write::team=a.')
  }
  return [
    ...scopes,
    {
      access,
      kinds: kinds === '' ? [] : kinds.split(','),
      selector: labels === '' ? {} : parseSelector(labels),
    },
  ]
}

interface ApiTokens {
  readonly items: readonly ApiToken[]
}

function tokensText({ items }: ApiTokens): string {
  return table(
    ['NAME', 'ROLE', 'SCOPES', 'EXPIRES', 'LAST USED'],
    items.map(({ name, role, scopes, expiresAt, usedAt }) => [
      name,
      role,
      scopes?.map(scopeText).join(' '),
      timeText(expiresAt),
      timeText(usedAt),
    ]),
  )
}

function scopeText({ access, kinds, selector }: Scope): string {
  return [access, kinds.join(','), labelsText(selector)].join(':').replace(/:+$/, '')
}
