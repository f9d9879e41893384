/** Schemas of answers, and of what several routes share. */
import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox'
import { fleetLimits } from '../fleet/limits.ts'
import { KINDS } from '../model/kinds.ts'
import { limits } from '../model/limits.ts'
import {
  Certificate,
  EntryPoint,
  Name,
  Router,
  requestSchema,
  Service,
  Settings,
} from '../model/resources.ts'
import { stageLimits } from '../model/stage-plan.ts'

export const pageLimits = Object.freeze({ default: 100, max: 1_000 })

const strict = { additionalProperties: false } as const
export const Time = Type.String({ format: 'date-time' })
const NullableTime = Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' })

const Page = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: pageLimits.max, default: pageLimits.default }),
    offset: Type.Integer({ minimum: 0, default: 0 }),
  },
  strict,
)
/** Optional for those who ask; filled in for those who answer. */
export const PageQuery = Type.Unsafe<Static<typeof Page>>(requestSchema(Page))

const draft = Type.String({ ...Name, description: 'the draft to read or write' })

export const DraftQuery = Type.Object({ draft: Type.Optional(draft) }, strict)
export const DraftPageQuery = Type.Unsafe<Static<typeof Page> & Static<typeof DraftQuery>>({
  ...PageQuery,
  properties: { ...requestSchema(Page).properties, draft },
})
export const MessageQuery = Type.Object(
  {
    message: Type.Optional(
      Type.String({
        maxLength: limits.messageCharactersMax,
        description: 'why, kept with the version',
      }),
    ),
    stage: Type.Optional(
      Type.String({
        maxLength: stageLimits.textCharactersMax,
        description:
          'to some nodes first, like canary=label:site=berlin,hold=2m,max-5xx=1%,max-p99=+50%',
      }),
    ),
  },
  strict,
)
export const WriteQuery = Type.Object(
  { ...MessageQuery.properties, draft: Type.Optional(draft) },
  strict,
)

const message = Type.Optional(
  Type.String({ maxLength: limits.messageCharactersMax, description: 'as the query "message"' }),
)
export const WriteHeaders = Type.Object({
  'sluice-message': message,
  'if-match': Type.Optional(
    Type.String({ description: 'entity tags, or *: else 412 with what there is now' }),
  ),
  'if-none-match': Type.Optional(Type.String({ description: '*: there must be none' })),
})
export const CreateHeaders = Type.Object({
  'sluice-message': message,
  'idempotency-key': Type.Optional(
    Type.String({ description: 'the same request under it is made once, for a day' }),
  ),
})

export function pageOf<T extends TSchema>(item: T) {
  return Type.Object({ items: Type.Array(item), total: Type.Integer() })
}

export const NameParameters = Type.Object({ name: Type.String() })

const meta = { createdAt: Time, updatedAt: Time, revision: Type.Integer() }

function answer<T extends TProperties>(title: string, schema: TObject<T>) {
  return Type.Object({ ...schema.properties, ...meta }, { title })
}

const { publicKeyId: _, ...shownOfCertificate } = Certificate.properties

/** Resources as answers show them. */
export const answers = {
  'entry-point': answer('EntryPoint', EntryPoint),
  router: answer('Router', Router),
  service: answer('Service', Service),
  certificate: Type.Object(
    { ...shownOfCertificate, warnings: Type.Array(Type.String()), ...meta },
    { title: 'Certificate' },
  ),
  settings: Type.Object(
    {
      ...Settings.properties,
      // Null: the defaults hold, since nothing was ever published.
      createdAt: NullableTime,
      updatedAt: NullableTime,
      revision: Type.Integer(),
    },
    { title: 'Settings' },
  ),
}

export const ProblemSchema = Type.Object(
  {
    kind: Type.Enum(['', ...KINDS]),
    name: Type.String(),
    field: Type.String({ description: 'path within the resource, like "servers[1].url"' }),
    reason: Type.String(),
    hint: Type.Optional(Type.String({ description: 'what could be done about it' })),
  },
  { title: 'Problem' },
)

export const ProblemDetailsSchema = Type.Object(
  {
    type: Type.String({ description: 'urn:sluice:problem:<slug>' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    instance: Type.Optional(Type.String()),
    problems: Type.Optional(Type.Array(ProblemSchema)),
    current: Type.Optional(
      Type.Unsafe<object | null>({
        type: ['object', 'null'],
        description: 'with 412: the resource as it is now',
      }),
    ),
  },
  { title: 'ProblemDetails' },
)

/**
 * What a route answers, for its documentation. Typed as unknown: answers are typed where they are made, and
 * the tests hold every answer against the published document.
 */
export function responses(
  success: Readonly<Record<number, TSchema>>,
  ...failures: readonly number[]
): Record<number, TSchema> {
  const content = { 'application/problem+json': { schema: ProblemDetailsSchema } }
  // Whoever needs credentials may have some that do not suffice.
  const all = failures.includes(401) ? [...failures, 403] : failures
  const refused = all.map((status) => [
    status,
    { description: reasons[status] ?? 'failure', content },
  ])
  const succeeded = Object.entries(success).map(([status, schema]) => [
    status,
    status === '204'
      ? schema
      : { description: 'success', content: { 'application/json': { schema } } },
  ])
  return Object.fromEntries([...succeeded, ...refused])
}

const reasons: Record<number, string> = {
  400: 'the request is malformed',
  401: 'the credentials are missing or wrong',
  403: 'the role does not allow it, or a write with a session came without its token',
  404: 'there is nothing of that name',
  409: 'the name is taken, the resource is still used, or the draft conflicts',
  412: 'the resource is not as expected; `current` has it',
  413: 'the body is too large',
  415: 'the media type is not supported',
  422: 'the configuration would be invalid',
  429: 'too many ask for this at the same time',
}

export const Counts = Type.Object(
  {
    entryPoints: Type.Integer(),
    routers: Type.Integer(),
    services: Type.Integer(),
    certificates: Type.Integer(),
  },
  { title: 'Counts' },
)

export const Labels = Type.Record(Type.String(), Type.String())

const NullableInteger = Type.Unsafe<number | null>({ type: ['integer', 'null'] })

export const NodeAnswer = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    labels: Labels,
    state: Type.Enum(['in-sync', 'updating', 'rejected', 'lost', 'draining', 'revoked']),
    isConnected: Type.Boolean(),
    connectedAt: NullableTime,
    lastSeenAt: NullableTime,
    desiredVersion: Type.Integer({ description: 'what the node should run; 0: nothing yet' }),
    desiredHash: Type.String({ description: 'of what concerns this node' }),
    version: Type.Integer({ description: '0: the node runs none' }),
    hash: Type.String(),
    appliedAt: NullableTime,
    tookMs: NullableInteger,
    rejected: Type.Unsafe({
      type: ['object', 'null'],
      properties: {
        version: Type.Integer(),
        at: Time,
        problems: Type.Array(ProblemSchema),
      },
    }),
    missingFeatures: Type.Array(
      Type.Object({
        feature: Type.String(),
        kind: Type.Enum([...KINDS]),
        name: Type.String(),
        field: Type.String(),
      }),
      {
        description:
          "what the node's software cannot do, each with one resource of the desired version that needs it; the node keeps what it runs",
      },
    ),
    softwareVersion: Type.String(),
    features: Type.Array(Type.String()),
    bootId: Type.String(),
    workers: Type.Integer(),
    isDraining: Type.Boolean({ description: 'an operator wants it to take no new connections' }),
    load: Type.Unsafe({
      type: ['object', 'null'],
      description: 'what is still open, while the node or something in its version drains',
      properties: {
        connectionsOpen: Type.Integer(),
        exchangesOpen: Type.Integer(),
        draining: Type.Array(
          Type.Object({
            kind: Type.Enum(['router', 'service']),
            name: Type.String(),
            serverUrl: Type.String({ description: 'of the server; empty for a router' }),
            exchangesOpen: Type.Integer(),
          }),
        ),
      },
    }),
    uptimeSeconds: NullableInteger,
    clockOffsetMs: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      description: "the node's clock less the control plane's",
    }),
    certificateExpiresAt: Time,
    isCertificateExpired: Type.Boolean({
      description: 'true: it has to join again, with a new token, and keeps its name and labels',
    }),
    enrolledAt: Time,
    address: Type.String(),
  },
  { title: 'Node' },
)

export const JoinTokenRequest = Type.Object(
  {
    labels: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        default: {},
        description: 'pinned to the nodes that join with it',
      }),
    ),
    expiresInSeconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: fleetLimits.joinTokenSecondsMax, default: 3_600 }),
    ),
    uses: Type.Optional(
      Type.Integer({ minimum: 1, maximum: fleetLimits.joinTokenUsesMax, default: 1 }),
    ),
  },
  strict,
)

export const JoinTokenAnswer = Type.Object(
  {
    id: Type.String(),
    labels: Labels,
    createdAt: Time,
    expiresAt: Time,
    uses: Type.Integer(),
    usesLeft: Type.Integer(),
  },
  { title: 'JoinToken' },
)

export const TrafficAnswer = Type.Object(
  {
    by: Type.Enum(['node', 'router', 'service']),
    from: Time,
    to: Time,
    stepMs: Type.Integer(),
    series: Type.Array(
      Type.Object({
        key: Type.String(),
        points: Type.Array(
          Type.Object({
            time: Time,
            requests: Type.Object({
              total: Type.Integer(),
              informational: Type.Integer(),
              success: Type.Integer(),
              redirection: Type.Integer(),
              clientError: Type.Integer(),
              serverError: Type.Integer(),
              none: Type.Integer(),
            }),
            bytesIn: Type.Integer(),
            bytesOut: Type.Integer(),
            latency: Type.Object({
              count: Type.Integer(),
              meanMs: Type.Number(),
              p50Ms: Type.Number(),
              p90Ms: Type.Number(),
              p99Ms: Type.Number(),
            }),
          }),
        ),
      }),
    ),
  },
  { title: 'Traffic' },
)

export const LogsAnswer = Type.Object(
  {
    items: Type.Array(
      Type.Object({
        id: Type.String(),
        time: Time,
        node: Type.String(),
        router: Type.String(),
        service: Type.String(),
        server: Type.String(),
        entryPoint: Type.String(),
        clientAddress: Type.String(),
        method: Type.String(),
        host: Type.String(),
        path: Type.String(),
        protocol: Type.String(),
        status: Type.Integer({ description: '0: none was sent' }),
        outcome: Type.String(),
        bytesIn: Type.Integer(),
        bytesOut: Type.Integer(),
        durationMs: Type.Number(),
        firstByteMs: Type.Unsafe<number | null>({ type: ['number', 'null'] }),
        attempts: Type.Integer(),
        userAgent: Type.String(),
        country: Type.String({ description: 'of the client; empty: not known' }),
        query: Type.String(),
        referrer: Type.String(),
        requestId: Type.String(),
        tlsVersion: Type.String({ description: 'empty: not encrypted' }),
        weight: Type.Number({ description: 'how many requests the line stands for' }),
      }),
    ),
    next: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'the cursor of the next, older page',
    }),
  },
  { title: 'Logs' },
)

export const StatusAnswer = Type.Object(
  {
    version: Type.Integer({ description: '0: nothing was ever published' }),
    hash: Type.String(),
    publishedAt: NullableTime,
    nodes: Type.Object({
      total: Type.Integer(),
      connected: Type.Integer(),
      inSync: Type.Integer(),
      rejected: Type.Integer(),
      lost: Type.Integer(),
      revoked: Type.Integer(),
    }),
    counts: Counts,
    startedAt: Time,
    softwareVersion: Type.String(),
  },
  { title: 'Status' },
)
