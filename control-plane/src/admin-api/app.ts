/** Builds the admin API; whoever builds it makes it listen and closes it. */
import fastifyCookie from '@fastify/cookie'
import fastifySwagger from '@fastify/swagger'
import fastifySwaggerUi from '@fastify/swagger-ui'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { Type } from 'typebox'
import { ApiTokens } from '../people/api-tokens.ts'
import { Sessions } from '../people/sessions.ts'
import { SignInThrottle } from '../people/sign-in-throttle.ts'
import { PreconditionFailed } from '../publishing/preconditions.ts'
import { installAccessRules } from './access.ts'
import { apiTokenRoutes } from './api-token-routes.ts'
import { applyRoutes } from './apply-routes.ts'
import { auditRoutes } from './audit-routes.ts'
import { Auditing } from './auditing.ts'
import { Authentication } from './authentication.ts'
import { answerBrokenConnection } from './broken-request.ts'
import { bundleRoutes } from './bundle-routes.ts'
import { ConfigurationWriter } from './configuration-writer.ts'
import { sendDashboard, serveDashboard } from './dashboard-files.ts'
import { draftRoutes } from './draft-routes.ts'
import { eventRoutes } from './event-routes.ts'
import { explainRoutes } from './explain-routes.ts'
import { historyRoutes } from './history-routes.ts'
import { IdempotencyKeys } from './idempotency.ts'
import { joinTokenRoutes } from './join-token-routes.ts'
import { apiLimits } from './limits.ts'
import { logRaiseRoutes } from './log-raise-routes.ts'
import { logRoutes } from './log-routes.ts'
import { masterKeyRoutes } from './master-key-routes.ts'
import { metricsRoutes } from './metrics-routes.ts'
import { nodeRoutes } from './node-routes.ts'
import { openApi } from './open-api.ts'
import type { AdminApiOptions, AdminApiParts, TlsIdentity } from './parts.ts'
import { ApiError, sendPreconditionFailed, sendProblem } from './problem-details.ts'
import { present } from './representation.ts'
import { resourceRoutes } from './resource-routes.ts'
import { responses } from './schemas.ts'
import { secondFactorRoutes } from './second-factor-routes.ts'
import { sessionRoutes, signInRoute } from './session-routes.ts'
import { settingsRoutes } from './settings-routes.ts'
import { stageRoutes } from './stage-routes.ts'
import { statusRoutes } from './status-routes.ts'
import { sendStrictHeaders } from './strict-headers.ts'
import { telemetryRoutes } from './telemetry-routes.ts'
import { transferRoutes } from './transfer-routes.ts'
import { userRoutes } from './user-routes.ts'
import { makeValidatorCompiler, SchemaMismatch, toApiError } from './validation.ts'
import { versionRoutes } from './version-routes.ts'

const collections = [
  { kind: 'entry-point', path: 'entry-points' },
  { kind: 'router', path: 'routers' },
  { kind: 'service', path: 'services' },
  { kind: 'certificate', path: 'certificates' },
] as const

const getHealth = {
  tags: ['status'],
  security: [],
  response: responses({ 200: Type.Object({ status: Type.Literal('ok') }) }),
}

export async function buildAdminApi(
  options: AdminApiOptions,
  tls?: TlsIdentity,
): Promise<FastifyInstance> {
  const loggerInstance: FastifyBaseLogger = options.log
  const app: FastifyInstance = Fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: apiLimits.bodyBytesMax,
    requestTimeout: apiLimits.requestTimeoutMs,
    keepAliveTimeout: apiLimits.keepAliveTimeoutMs,
    ...serverOptions(tls),
    routerOptions: { maxParamLength: apiLimits.parameterCharactersMax },
    clientErrorHandler: answerBrokenConnection,
    frameworkErrors: (error, request, reply) => {
      sendProblem(request, reply, error)
    },
  })
  app.setValidatorCompiler(makeValidatorCompiler())
  // What is sent is typed; serialising by schema would drop what a schema forgets without a word.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
  setErrorHandling(app, options.now)
  acceptJsonOnly(app)
  app.addHook('onResponse', async (request, reply) => {
    const { method, url } = request
    const took = Math.round(reply.elapsedTime)
    request.log.debug({ method, url, status: reply.statusCode, tookMs: took }, 'answered')
  })
  sendStrictHeaders(app)
  installAccessRules(app)
  new Auditing(options).install(app)
  await app.register(fastifySwagger, openApi(options.softwareVersion))
  await app.register(fastifySwaggerUi, { routePrefix: '/api/docs' })
  app.get('/api/openapi.json', { schema: { hide: true } }, () => app.swagger())
  app.get('/healthz', { schema: getHealth }, () => ({ status: 'ok' }))
  await app.register(fastifyCookie)
  const sessions = new Sessions(options)
  const apiTokens = new ApiTokens(options)
  const authentication = new Authentication({ ...options, sessions, apiTokens })
  const throttle = new SignInThrottle(options.now)
  await app.register(async (metrics) => {
    metrics.addHook('onRequest', authentication.require)
    await metrics.register(metricsRoutes, options)
  })
  const people = { sessions, apiTokens, throttle, authentication }
  await app.register(signInRoute, { ...options, ...people, prefix: '/api/v1' })
  await app.register(versionOne, { ...options, ...people, prefix: '/api/v1' })
  await serveDashboard(app)
  return app
}

/** Fastify's types tell servers with and without TLS apart, which nothing here does. */
function serverOptions(tls: TlsIdentity | undefined): object {
  const limits = { headersTimeout: apiLimits.headTimeoutMs }
  return tls === undefined
    ? { http: limits }
    : { https: { ...limits, ...tls, minVersion: 'TLSv1.2' } }
}

async function versionOne(
  app: FastifyInstance,
  options: AdminApiOptions &
    Pick<AdminApiParts, 'sessions' | 'apiTokens' | 'throttle'> & {
      readonly authentication: Authentication
    },
): Promise<void> {
  app.addHook('onRequest', options.authentication.require)
  // Within the prefix, so that the token is asked for first.
  app.setNotFoundHandler(refuseUnknownRoute)
  const {
    publisher,
    drafts,
    archive,
    nodes,
    history,
    stages,
    logRaises,
    joinTokens,
    telemetry,
    users,
    secondFactors,
    audit,
    rotateMasterKey,
    sessions,
    apiTokens,
    throttle,
    softwareVersion,
    now,
  } = options
  const keys = new IdempotencyKeys(options)
  keys.install(app)
  const parts: AdminApiParts = {
    publisher,
    drafts,
    archive,
    nodes,
    history,
    stages,
    logRaises,
    joinTokens,
    telemetry,
    users,
    secondFactors,
    audit,
    rotateMasterKey,
    sessions,
    apiTokens,
    throttle,
    softwareVersion,
    now,
    keys,
    writer: new ConfigurationWriter({ publisher, drafts, keys, stages }),
    startedAtMs: now(),
  }
  for (const collection of collections) {
    await app.register(resourceRoutes, { ...parts, ...collection })
  }
  await app.register(settingsRoutes, parts)
  await app.register(applyRoutes, parts)
  await app.register(versionRoutes, parts)
  await app.register(draftRoutes, parts)
  await app.register(explainRoutes, parts)
  await app.register(transferRoutes, parts)
  await app.register(joinTokenRoutes, parts)
  await app.register(bundleRoutes, parts)
  await app.register(nodeRoutes, parts)
  await app.register(historyRoutes, parts)
  await app.register(stageRoutes, parts)
  await app.register(telemetryRoutes, parts)
  await app.register(logRoutes, parts)
  await app.register(logRaiseRoutes, parts)
  await app.register(masterKeyRoutes, parts)
  await app.register(statusRoutes, parts)
  await app.register(sessionRoutes, parts)
  await app.register(secondFactorRoutes, parts)
  await app.register(userRoutes, parts)
  await app.register(apiTokenRoutes, parts)
  await app.register(auditRoutes, parts)
  await app.register(eventRoutes, parts)
}

function setErrorHandling(app: FastifyInstance, now: () => number): void {
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof PreconditionFailed) {
      const shown = error.current === undefined ? null : present(error.current, now())
      return sendPreconditionFailed(request, reply, error, shown)
    }
    if (!(error instanceof SchemaMismatch)) return sendProblem(request, reply, error)
    const locate = request.routeOptions.config.locate
    return sendProblem(request, reply, toApiError(error, locate, request))
  })
  app.setNotFoundHandler(
    (request, reply) => sendDashboard(request, reply) ?? refuseUnknownRoute(request),
  )
}

function refuseUnknownRoute(request: { method: string; url: string }): never {
  throw new ApiError(404, `there is no ${request.method} ${request.url.split('?')[0]}`)
}

function acceptJsonOnly(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser(['text/plain', 'application/json'])
  app.addContentTypeParser(
    ['application/json', 'application/merge-patch+json'],
    { parseAs: 'string' },
    (request, body, done) => {
      // Clients send the type with a DELETE too; routes that need a body refuse its absence by their schema.
      if (body === '') return done(null, undefined)
      return parseJson(request, body.toString(), done)
    },
  )
}
