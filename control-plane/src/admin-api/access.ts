/**
 * What each route asks of whoever calls it. The only place that decides who may do what: a route that has no
 * rule here cannot be registered, so none is open by being forgotten.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Kind, Problem } from '../model/kinds.ts'
import { isAtLeast, type Principal, type Role } from '../people/principal.ts'
import { type Access, type AccessKind, covers, coversChange } from '../people/scopes.ts'
import type { Guard } from '../publishing/guard.ts'
import { ApiError } from './problem-details.ts'

export interface AccessRule {
  readonly kind: AccessKind
  readonly access: Access
  readonly least: Role | ((request: FastifyRequest) => Role)
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined where a route is open to all. */
    principal: Principal | undefined
  }
  interface FastifyContextConfig {
    /** Set for every route that is not open to all. */
    access?: AccessRule
  }
}

const prefix = '/api/v1'
const read = (kind: AccessKind): AccessRule => ({ kind, access: 'read', least: 'viewer' })
const write = (kind: AccessKind, least: AccessRule['least'] = 'editor'): AccessRule => ({
  kind,
  access: 'write',
  least,
})

const rules: Readonly<Record<string, AccessRule | 'open'>> = {
  ...ofCollection('/entry-points', 'entry-point'),
  ...ofCollection('/routers', 'router'),
  ...ofCollection('/services', 'service'),
  ...ofCollection('/certificates', 'certificate'),
  'GET /settings': read('settings'),
  'PUT /settings': write('settings', 'admin'),
  'POST /apply': write('resources'),
  'POST /plan': read('resources'),
  'GET /versions': read('configuration'),
  'GET /versions/:number': read('configuration'),
  'GET /versions/:number/diff/:other': read('configuration'),
  'POST /versions/:number/rollback': write('resources'),
  'GET /drafts': read('configuration'),
  'GET /drafts/:name': read('configuration'),
  'DELETE /drafts/:name': write('configuration'),
  'POST /drafts/:name/validate': read('configuration'),
  'POST /drafts/:name/publish': write('resources'),
  'POST /explain': read('configuration'),
  'GET /export': { ...read('configuration'), least: leastForExport },
  'POST /import': write('resources'),
  'GET /stages': read('configuration'),
  'POST /stages/open/promote': write('configuration'),
  'POST /stages/open/withdraw': write('configuration'),
  'POST /stages/open/pause': write('configuration'),
  'POST /stages/open/resume': write('configuration'),
  'GET /history': read('configuration'),
  'POST /history/accept': write('configuration', 'admin'),
  'GET /join-tokens': read('join-token'),
  'POST /join-tokens': write('join-token', 'admin'),
  'DELETE /join-tokens/:id': write('join-token', 'admin'),
  'POST /node-bundles': write('join-token', 'admin'),
  'GET /nodes': read('node'),
  'GET /nodes/:node': read('node'),
  'POST /nodes/:node/revoke': write('node', 'admin'),
  'POST /nodes/:node/drain': write('node'),
  'POST /nodes/:node/undrain': write('node'),
  'GET /analytics': read('traffic'),
  'GET /analytics/traffic': read('traffic'),
  'GET /analytics/columns': read('traffic'),
  'GET /analytics/heatmap': read('traffic'),
  'GET /metrics': read('traffic'),
  'GET /logs': read('log'),
  'GET /logs/export': read('log'),
  'GET /logs/follow': read('log'),
  'GET /logs/raise': read('log'),
  'POST /logs/raise': write('log'),
  'DELETE /logs/raise': write('log'),
  'GET /users': { ...read('user'), least: 'admin' },
  'GET /users/:name': { ...read('user'), least: 'admin' },
  'POST /users': write('user', 'admin'),
  'PATCH /users/:name': write('user', 'admin'),
  'DELETE /users/:name': write('user', 'admin'),
  'GET /api-tokens': { ...read('user'), least: 'admin' },
  'POST /api-tokens': write('user', 'admin'),
  'DELETE /api-tokens/:name': write('user', 'admin'),
  'GET /audit': { ...read('audit'), least: 'admin' },
  'GET /audit/export': { ...read('audit'), least: 'admin' },
  'GET /audit/verify': { ...read('audit'), least: 'admin' },
  'POST /master-key/rotate': write('settings', 'admin'),
  'GET /status': read('status'),
  'GET /events': read('status'),
  'POST /session': 'open',
  'GET /session': read('status'),
  'DELETE /session': write('status', 'viewer'),
  'POST /session/password': write('status', 'viewer'),
  'POST /session/second-factor/new': write('status', 'viewer'),
  'POST /session/second-factor': write('status', 'viewer'),
  'POST /session/second-factor/remove': write('status', 'viewer'),
  // Of one's own; an admin, of everybody.
  'GET /sessions': read('status'),
  'DELETE /sessions/:id': write('status', 'viewer'),
}

/** Files of the dashboard and what describes the API: nothing in them is secret. */
const openPaths =
  /^\/($|\*|index\.html|sluice\.svg|assets\/|healthz$|api\/openapi\.json$|api\/docs)/

/** Before any route is registered. */
export function installAccessRules(app: FastifyInstance): void {
  app.decorateRequest('principal', undefined)
  app.addHook('onRoute', (route) => {
    for (const method of [route.method].flat()) {
      const rule = ruleOf(method, route.url)
      if (rule !== 'open') route.config = { ...route.config, access: rule }
    }
  })
}

/** Throws for a route that has none. */
function ruleOf(method: string, url: string): AccessRule | 'open' {
  const path = url.startsWith(`${prefix}/`) ? url.slice(prefix.length) : url
  const rule = rules[`${method === 'HEAD' ? 'GET' : method} ${path}`]
  if (rule !== undefined) return rule
  if (openPaths.test(url)) return 'open'
  throw new Error(`no access rule for ${method} ${url}`)
}

/** Refuses what the rule of the request's route does not allow. */
export function requireAllowed(request: FastifyRequest, principal: Principal): void {
  const rule = request.routeOptions.config.access
  // A path that is no route is answered 404.
  if (rule === undefined) return
  const least = typeof rule.least === 'function' ? rule.least(request) : rule.least
  const { name, role, scopes } = principal
  if (!isAtLeast(role, least)) {
    throw new ApiError(403, `this needs the role ${least}; ${name} has ${role}`)
  }
  if (scopes !== undefined && !covers(scopes, rule.kind, rule.access)) {
    throw new ApiError(403, `this is in none of the scopes of ${name}`)
  }
}

/** Of a request to a route that is not open to all. */
export function principalOf({ principal }: FastifyRequest): Principal {
  if (principal === undefined) throw new Error('the route is open to all, so nobody is known')
  return principal
}

/** What keeps a principal from changing single resources, however the request came to name them. */
export function guardOf({ name: who, role, scopes }: Principal): Guard {
  return ({ kind, name }, before, after): Problem | undefined => {
    if (kind === 'settings' && !isAtLeast(role, 'admin')) {
      return { kind, name, field: '', reason: 'may be changed by the role admin alone' }
    }
    if (scopes === undefined || coversChange(scopes, kind, before, after)) return undefined
    const reason = `is in no scope in which ${who} may write, with its labels before and after`
    return { kind, name, field: '', reason }
  }
}

/** The same for what is only shown. */
export function viewGuardOf({ name: who, scopes }: Principal): Guard {
  return ({ kind, name }): Problem | undefined => {
    if (scopes === undefined || covers(scopes, kind, 'read')) return undefined
    return { kind, name, field: '', reason: `is in none of the scopes of ${who}` }
  }
}

function leastForExport({ headers }: FastifyRequest): Role {
  return headers['sluice-passphrase'] === undefined ? 'viewer' : 'admin'
}

function ofCollection(path: string, kind: Kind): Record<string, AccessRule> {
  return {
    [`GET ${path}`]: read(kind),
    [`POST ${path}`]: write(kind),
    [`GET ${path}/:name`]: read(kind),
    [`PUT ${path}/:name`]: write(kind),
    [`PATCH ${path}/:name`]: write(kind),
    [`DELETE ${path}/:name`]: write(kind),
  }
}
