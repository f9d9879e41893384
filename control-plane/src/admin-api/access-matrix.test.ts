/**
 * Who may do what: every route of the OpenAPI document, asked by nobody, by each role and by tokens of every
 * scope. What is expected is stated here once more, apart from the rules in access.ts, so that a change of
 * either shows; a new route without a line in the table fails.
 */
import { request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SCOPE_KINDS } from '../people/scopes.ts'
import { RunningControlPlane } from './testing/running-control-plane.ts'

const table = `
GET    /api/v1/analytics                            viewer    read  traffic
GET    /api/v1/analytics/columns                    viewer    read  traffic
GET    /api/v1/analytics/heatmap                    viewer    read  traffic
GET    /api/v1/analytics/traffic                    viewer    read  traffic
GET    /api/v1/api-tokens                           admin     read  user
POST   /api/v1/api-tokens                           admin     write user
DELETE /api/v1/api-tokens/{name}                    admin     write user
POST   /api/v1/apply                                editor    write resources
GET    /api/v1/audit                                admin     read  audit
GET    /api/v1/audit/export                         admin     read  audit
GET    /api/v1/audit/verify                         admin     read  audit
GET    /api/v1/certificates                         viewer    read  certificate
POST   /api/v1/certificates                         editor    write certificate
DELETE /api/v1/certificates/{name}                  editor    write certificate
GET    /api/v1/certificates/{name}                  viewer    read  certificate
PATCH  /api/v1/certificates/{name}                  editor    write certificate
PUT    /api/v1/certificates/{name}                  editor    write certificate
GET    /api/v1/drafts                               viewer    read  configuration
DELETE /api/v1/drafts/{name}                        editor    write configuration
GET    /api/v1/drafts/{name}                        viewer    read  configuration
POST   /api/v1/drafts/{name}/publish                editor    write resources
POST   /api/v1/drafts/{name}/validate               viewer    read  configuration
GET    /api/v1/entry-points                         viewer    read  entry-point
POST   /api/v1/entry-points                         editor    write entry-point
DELETE /api/v1/entry-points/{name}                  editor    write entry-point
GET    /api/v1/entry-points/{name}                  viewer    read  entry-point
PATCH  /api/v1/entry-points/{name}                  editor    write entry-point
PUT    /api/v1/entry-points/{name}                  editor    write entry-point
GET    /api/v1/events                               viewer    read  status
POST   /api/v1/explain                              viewer    read  configuration
GET    /api/v1/export                               viewer    read  configuration
GET    /api/v1/history                              viewer    read  configuration
POST   /api/v1/history/accept                       admin     write configuration
POST   /api/v1/import                               editor    write resources
GET    /api/v1/join-tokens                          viewer    read  join-token
POST   /api/v1/join-tokens                          admin     write join-token
DELETE /api/v1/join-tokens/{id}                     admin     write join-token
GET    /api/v1/logs                                 viewer    read  log
GET    /api/v1/logs/export                          viewer    read  log
GET    /api/v1/logs/follow                          viewer    read  log
DELETE /api/v1/logs/raise                           editor    write log
GET    /api/v1/logs/raise                           viewer    read  log
POST   /api/v1/logs/raise                           editor    write log
POST   /api/v1/master-key/rotate                    admin     write settings
POST   /api/v1/node-bundles                         admin     write join-token
GET    /api/v1/nodes                                viewer    read  node
GET    /api/v1/nodes/{node}                         viewer    read  node
POST   /api/v1/nodes/{node}/drain                   editor    write node
POST   /api/v1/nodes/{node}/revoke                  admin     write node
POST   /api/v1/nodes/{node}/undrain                 editor    write node
POST   /api/v1/plan                                 viewer    read  resources
GET    /api/v1/routers                              viewer    read  router
POST   /api/v1/routers                              editor    write router
DELETE /api/v1/routers/{name}                       editor    write router
GET    /api/v1/routers/{name}                       viewer    read  router
PATCH  /api/v1/routers/{name}                       editor    write router
PUT    /api/v1/routers/{name}                       editor    write router
GET    /api/v1/services                             viewer    read  service
POST   /api/v1/services                             editor    write service
DELETE /api/v1/services/{name}                      editor    write service
GET    /api/v1/services/{name}                      viewer    read  service
PATCH  /api/v1/services/{name}                      editor    write service
PUT    /api/v1/services/{name}                      editor    write service
DELETE /api/v1/session                              viewer    write status
GET    /api/v1/session                              viewer    read  status
POST   /api/v1/session                              everybody
POST   /api/v1/session/password                     viewer    write status
POST   /api/v1/session/second-factor                viewer    write status
POST   /api/v1/session/second-factor/new            viewer    write status
POST   /api/v1/session/second-factor/remove         viewer    write status
GET    /api/v1/sessions                             viewer    read  status
DELETE /api/v1/sessions/{id}                        viewer    write status
GET    /api/v1/settings                             viewer    read  settings
PUT    /api/v1/settings                             admin     write settings
GET    /api/v1/stages                               viewer    read  configuration
POST   /api/v1/stages/open/pause                    editor    write configuration
POST   /api/v1/stages/open/promote                  editor    write configuration
POST   /api/v1/stages/open/resume                   editor    write configuration
POST   /api/v1/stages/open/withdraw                 editor    write configuration
GET    /api/v1/status                               viewer    read  status
GET    /api/v1/users                                admin     read  user
POST   /api/v1/users                                admin     write user
DELETE /api/v1/users/{name}                         admin     write user
GET    /api/v1/users/{name}                         admin     read  user
PATCH  /api/v1/users/{name}                         admin     write user
GET    /api/v1/versions                             viewer    read  configuration
GET    /api/v1/versions/{number}                    viewer    read  configuration
GET    /api/v1/versions/{number}/diff/{other}       viewer    read  configuration
POST   /api/v1/versions/{number}/rollback           editor    write resources
GET    /healthz                                     everybody
`

const roles = ['viewer', 'editor', 'admin'] as const
const rank: readonly string[] = roles
const resourceKinds = ['entry-point', 'router', 'service', 'certificate', 'settings']
const team = { team: 'a' }

interface Scope {
  readonly kinds: readonly string[]
  readonly access: 'read' | 'write'
  readonly selector: Readonly<Record<string, string>>
}

interface Row {
  readonly method: string
  readonly path: string
  readonly least: string
  readonly access: string
  readonly kind: string
}

interface Asker {
  readonly what: string
  /** Undefined: nobody is known by these credentials. */
  readonly role?: (typeof roles)[number]
  readonly scope?: Scope
  readonly headers: Readonly<Record<string, string>>
}

const rows: readonly Row[] = table
  .trim()
  .split('\n')
  .map((line) => {
    const [method = '', path = '', least = '', access = '', kind = ''] = line.split(/ +/)
    return { method, path, least, access, kind }
  })

let running: RunningControlPlane

beforeAll(async () => {
  running = await RunningControlPlane.start()
})

afterAll(() => running.remove())

it('the table has every route of the OpenAPI document', async () => {
  const { paths } = (await running.send('GET', '/api/openapi.json')).body
  const described = Object.entries<object>(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(rows.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(
    described.toSorted(),
  )
})

it('every route × role × scope is allowed or refused as the table says', async () => {
  const askers = [...strangers(), ...(await signedIn()), ...(await tokens())]
  const wrong: string[] = []
  const counts = { allowed: 0, 401: 0, 403: 0 }
  for (const asker of askers) {
    for (const row of rows) {
      // Whoever signs out has no session any more; a token does the same without one.
      if (row.path === '/api/v1/session' && row.method === 'DELETE' && asker.headers.cookie)
        continue
      const expected = expectedOf(row, asker)
      const seen = await ask(row, asker)
      counts[seen] += 1
      if (seen !== expected) {
        wrong.push(`${row.method} ${row.path} by ${asker.what}: ${seen}, not ${expected}`)
      }
    }
  }
  expect(wrong).toEqual([])
  const cells = counts.allowed + counts[401] + counts[403]
  process.stdout.write(
    `${rows.length} routes × ${askers.length} askers: ${cells} requests, ${counts.allowed} allowed, ${counts[401]} answered 401, ${counts[403]} answered 403\n`,
  )
}, 120_000)

it('metrics are for those who may read traffic, and an export with keys for admins', async () => {
  const metrics = {
    method: 'GET',
    path: '/metrics',
    least: 'viewer',
    access: 'read',
    kind: 'traffic',
  }
  for (const asker of [...strangers(), ...(await tokens('m'))]) {
    expect([asker.what, await ask(metrics, asker)]).toEqual([
      asker.what,
      expectedOf(metrics, asker),
    ])
  }
  const path = '/api/v1/export'
  const sealed = { method: 'GET', path, least: 'admin', access: 'read', kind: 'configuration' }
  for (const asker of await tokens('e')) {
    const headers = { ...asker.headers, 'sluice-passphrase': 'long enough' }
    expect([asker.what, await ask(sealed, { ...asker, headers })]).toEqual([
      asker.what,
      expectedOf(sealed, asker),
    ])
  }
})

function expectedOf({ least, access, kind }: Row, { role, scope }: Asker) {
  if (least === 'everybody') return 'allowed'
  if (role === undefined) return 401
  if (roles.indexOf(role) < rank.indexOf(least)) return 403
  return scope === undefined || isCovered(scope, access, kind) ? 'allowed' : 403
}

function isCovered(scope: Scope, access: string, kind: string): boolean {
  const covered = scope.kinds.length === 0 ? [...SCOPE_KINDS] : scope.kinds
  const isWrite = access === 'write'
  if (kind === 'status') return true
  if (isWrite && (scope.access === 'read' || kind === 'user')) return false
  if (kind === 'resources') return covered.some((one) => resourceKinds.includes(one))
  if (!covered.some((one) => one === kind)) return false
  // Labels are looked at resource by resource, so they cannot let anything else be written.
  return !isWrite || resourceKinds.includes(kind) || Object.keys(scope.selector).length === 0
}

function strangers(): Asker[] {
  return [
    { what: 'nobody', headers: {} },
    { what: 'a wrong token', headers: { authorization: 'Bearer wrong' } },
    { what: 'a token like one', headers: { authorization: `Bearer sluice_${'x'.repeat(43)}` } },
    { what: 'a wrong cookie', headers: { cookie: `sluice_session=${'x'.repeat(43)}` } },
  ]
}

async function signedIn(): Promise<Asker[]> {
  const password = 'correct horse battery'
  const askers: Asker[] = [
    {
      what: 'the admin token',
      role: 'admin',
      headers: { authorization: `Bearer ${running.token}` },
    },
  ]
  for (const role of roles) {
    await running.post('/users', { name: `u-${role}`, role, password })
    const { headers, body } = await running.post('/session', { name: `u-${role}`, password })
    const cookie = String(headers['set-cookie']).split(';')[0] ?? ''
    const csrf = { 'x-sluice-csrf': String(body.csrfToken) }
    askers.push({ what: `a session of ${role}`, role, headers: { cookie, ...csrf } })
  }
  return askers
}

/** Of each role: without scopes, with all kinds, and with each kind, to read and to write. */
async function tokens(prefix = 't'): Promise<Asker[]> {
  const scopes: (Scope | undefined)[] = [
    undefined,
    ...[[], ...SCOPE_KINDS.map((kind) => [kind])].flatMap((kinds) => [
      { kinds, access: 'read' as const, selector: {} },
      { kinds, access: 'write' as const, selector: {} },
      { kinds, access: 'write' as const, selector: team },
    ]),
  ]
  const askers: Asker[] = []
  for (const role of roles) {
    for (const [index, scope] of scopes.entries()) {
      const name = `${prefix}-${role}-${index}`
      const { body } = await running.post('/api-tokens', {
        name,
        role,
        ...(scope !== undefined && { scopes: [scope] }),
      })
      askers.push({
        what: `${role} ${scope === undefined ? 'unlimited' : JSON.stringify(scope)}`,
        role,
        ...(scope !== undefined && { scope }),
        headers: { authorization: `Bearer ${body.token}` },
      })
    }
  }
  return askers
}

/** Nothing is there by these names and no body is sent, so what is allowed changes nothing. */
async function ask({ method, path }: Row, { headers }: Asker): Promise<'allowed' | 401 | 403> {
  const url = new URL(path.replaceAll(/\{[a-z]+\}/g, '9'), running.origin)
  // Without it the answer would not end.
  if (path.endsWith('/follow')) url.searchParams.set('status', 'none')
  const { statusCode, body } = await request(url, { method: method as 'GET', headers })
  if (path.endsWith('/events')) body.on('error', () => {}).destroy()
  else await body.dump()
  return statusCode === 401 || statusCode === 403 ? statusCode : 'allowed'
}
