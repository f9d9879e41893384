/**
 * The resources as the API shows them: schemas with every field and its default. Requests are checked
 * against `requestSchema` of these, in which what has a default may be left out.
 */
import { type Static, type TSchema, Type } from 'typebox'
import { limits } from './limits.ts'

const strict = { additionalProperties: false } as const

export const Name = Type.String({
  pattern: '^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$',
  description:
    'a name of 1 to 63 characters a-z, 0-9, "." and "-" that begins and ends with a letter or digit',
})

const Reference = Type.String({ minLength: 1, maxLength: limits.nameCharactersMax })
const Text = Type.String({ minLength: 1, maxLength: limits.textCharactersMax })
const Pem = Type.String({ minLength: 1, maxLength: limits.pemCharactersMax })
const Milliseconds = (milliseconds: number) =>
  Type.Integer({ minimum: 1, maximum: limits.timeoutMsMax, default: milliseconds })
const list = (item: Type.TString, maxItems: number, description: string) =>
  Type.Array(item, { maxItems, default: [], description })

/** What operators sort resources by. It stays with the control plane: nodes do not get it. */
export const Labels = Type.Record(
  Type.String(),
  Type.String({
    maxLength: limits.labelValueCharactersMax,
    pattern: '^[\\x20-\\x7e]*$',
    description: `at most ${limits.labelValueCharactersMax} printable ASCII characters`,
  }),
  {
    maxProperties: limits.labelsMax,
    propertyNames: {
      pattern: '^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$',
      maxLength: limits.labelKeyCharactersMax,
    },
    default: {},
    description: 'for selecting resources, as in `sluice apply --prune --selector team=a`',
  },
)

export const EntryPoint = Type.Object(
  {
    name: Name,
    labels: Labels,
    address: Type.String({
      maxLength: limits.textCharactersMax,
      description: 'HOST:PORT, [IPV6]:PORT, or :PORT for all addresses; port 0: the node picks one',
    }),
    protocol: Type.Enum(['http', 'https']),
    trustedPeers: list(
      Text,
      limits.rangesMax,
      'CIDR ranges of peers whose X-Forwarded-* fields are kept and extended',
    ),
    proxyProtocolPeers: list(
      Text,
      limits.rangesMax,
      'CIDR ranges of peers that begin each connection with a PROXY protocol header, v1 or v2',
    ),
    defaultCertificate: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.nameCharactersMax,
        description: 'certificate for clients whose server name no certificate covers',
      }),
    ),
  },
  strict,
)
export type EntryPoint = Static<typeof EntryPoint>

export const RouterMatch = Type.Object(
  {
    hosts: list(Text, limits.hostsMax, 'exact names, or "*.example.com" for one label in front'),
    pathPrefixes: list(Text, limits.pathsMax, 'prefixes at segment boundaries'),
    pathRegexes: list(Text, limits.regexesMax, 'RE2 expressions that match the whole path'),
    methods: list(Text, limits.methodsMax, 'request methods'),
    clientRanges: list(Text, limits.rangesMax, 'CIDR ranges of the client address'),
  },
  {
    ...strict,
    default: {},
    description:
      'all conditions that are given must hold; within one list, any; empty: every request',
  },
)
export type RouterMatch = Static<typeof RouterMatch>

export const Router = Type.Object(
  {
    name: Name,
    labels: Labels,
    entryPoints: list(Reference, limits.entryPointsMax, 'names of entry points; empty: all'),
    match: RouterMatch,
    priority: Type.Integer({
      minimum: -2_147_483_648,
      maximum: 2_147_483_647,
      default: 0,
      description: 'higher wins before specificity is looked at',
    }),
    service: Reference,
    nodes: Type.Record(Type.String(), Type.String(), {
      default: {},
      description: 'labels that a node must have to get this router; empty: every node',
    }),
    drain: Type.Boolean({
      default: false,
      description: 'answer new requests with 503; those that run go on',
    }),
  },
  strict,
)
export type Router = Static<typeof Router>

export const Server = Type.Object(
  {
    url: Type.String({ maxLength: limits.textCharactersMax, description: 'http://HOST:PORT' }),
    weight: Type.Integer({
      minimum: 0,
      maximum: limits.serverWeightMax,
      default: 1,
      description: 'share of requests relative to the other servers; 0 takes the server out',
    }),
    drain: Type.Boolean({
      default: false,
      description: 'no new requests; those that run go on, and their number is shown',
    }),
  },
  strict,
)

const Results = (number: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: limits.healthResultsMax, default: number, description })

export const HealthCheck = Type.Object(
  {
    path: Type.String({
      minLength: 1,
      maxLength: limits.textCharactersMax,
      description: 'asked of each server by GET, as in "/health"',
    }),
    intervalMs: Milliseconds(5_000),
    timeoutMs: Milliseconds(1_000),
    unhealthyAfter: Results(3, 'failures in a row'),
    healthyAfter: Results(1, 'successes in a row'),
    status: Type.Optional(
      Type.Integer({
        minimum: 200,
        maximum: 599,
        description: 'the one status that is a success; none: any of 200 to 399',
      }),
    ),
    initial: Type.Enum(['healthy', 'unhealthy'], {
      default: 'healthy',
      description: 'what a server is before its first result',
    }),
    failOpen: Type.Boolean({
      default: false,
      description: 'with no healthy server: true: use all of them; false: answer 503 at once',
    }),
  },
  strict,
)
export type HealthCheck = Static<typeof HealthCheck>

export const Service = Type.Object(
  {
    name: Name,
    labels: Labels,
    servers: Type.Array(Server, { minItems: 1, maxItems: limits.serversMax }),
    timeouts: Type.Object(
      {
        connectMs: Milliseconds(5_000),
        firstByteMs: Milliseconds(60_000),
        idleMs: Milliseconds(60_000),
        queueMs: Milliseconds(5_000),
      },
      { ...strict, default: {} },
    ),
    idleConnectionsMax: Type.Integer({
      minimum: 0,
      maximum: limits.idleConnectionsMax,
      default: 1_024,
      description: 'idle connections kept per server and worker',
    }),
    connectionsMax: Type.Integer({
      minimum: 0,
      maximum: limits.connectionsMax,
      default: 0,
      description: 'connections per server and worker; 0: no cap',
    }),
    queueMax: Type.Integer({
      minimum: 0,
      maximum: limits.queueMax,
      default: 1_024,
      description:
        'requests that wait, in each worker, while every server has connectionsMax; more get 503',
    }),
    connectionAgeMaxMs: Type.Integer({
      minimum: 0,
      maximum: limits.timeoutMsMax,
      default: 3_600_000,
      description: 'a connection that is older is not used for another request; 0: any age',
    }),
    passHost: Type.Boolean({ default: true, description: 'send the Host that the client sent' }),
    proxyProtocol: Type.Enum(['off', 'v1', 'v2'], {
      default: 'off',
      description:
        'tell servers the client with this PROXY protocol header; connections are then not used again',
    }),
    healthCheck: Type.Optional(HealthCheck),
    slowStartMs: Type.Integer({
      minimum: 0,
      maximum: limits.timeoutMsMax,
      default: 0,
      description: 'how long the share of a server rises after it was added or became healthy',
    }),
  },
  strict,
)
export type Service = Static<typeof Service>

export const UploadedCertificate = Type.Object(
  {
    name: Name,
    labels: Type.Optional(Labels),
    source: Type.Literal('uploaded'),
    chainPem: Pem,
    privateKeyPem: Type.String({
      minLength: 1,
      maxLength: limits.pemCharactersMax,
      writeOnly: true,
      description: 'never returned',
    }),
  },
  strict,
)

export const InternalCertificate = Type.Object(
  {
    name: Name,
    labels: Type.Optional(Labels),
    source: Type.Literal('internal'),
    hosts: Type.Array(Text, { minItems: 1, maxItems: limits.hostsMax }),
  },
  strict,
)

/** A certificate as it is kept and shown; the private key is elsewhere. */
export const Certificate = Type.Object(
  {
    name: Name,
    labels: Labels,
    source: Type.Enum(['uploaded', 'internal']),
    chainPem: Pem,
    hosts: Type.Array(Type.String()),
    notBefore: Type.String({ format: 'date-time' }),
    notAfter: Type.String({ format: 'date-time' }),
    fingerprint: Type.String({ description: 'SHA-256 of the leaf, hex' }),
    issuer: Type.String(),
    publicKeyId: Type.String({ description: 'SHA-256 of the public key, hex' }),
  },
  strict,
)
export type Certificate = Static<typeof Certificate>

export const Settings = Type.Object(
  {
    labels: Labels,
    logs: Type.Object(
      {
        perSecondPerNode: Type.Integer({
          minimum: 0,
          maximum: limits.logsPerSecondMax,
          default: 10,
          description: 'the most request log lines that one node keeps in any second',
        }),
      },
      { ...strict, default: {} },
    ),
    versions: Type.Object(
      {
        countMax: Type.Integer({
          minimum: limits.versionsAlwaysKept,
          maximum: limits.versionsKeptMax,
          default: 1_000,
          description: 'how many published versions are kept',
        }),
        daysMax: Type.Integer({
          minimum: 1,
          maximum: limits.versionDaysMax,
          default: 365,
          description: `how long a version is kept; the newest ${limits.versionsAlwaysKept}, and those that nodes run, always are`,
        }),
      },
      { ...strict, default: {} },
    ),
  },
  strict,
)
export type Settings = Static<typeof Settings>

/** Any resource: its kind, and its fields as they are kept. */
export type Resource =
  | { readonly kind: 'entry-point'; readonly spec: EntryPoint }
  | { readonly kind: 'router'; readonly spec: Router }
  | { readonly kind: 'service'; readonly spec: Service }
  | { readonly kind: 'certificate'; readonly spec: Certificate }
  | { readonly kind: 'settings'; readonly spec: Settings }

/** The same object schema, with fields that have a default made optional, at every depth. */
export function requestSchema(schema: ObjectSchema): ObjectSchema {
  const properties = Object.fromEntries(
    Object.entries(schema.properties).map(([name, property]) => [name, relaxed(property)]),
  )
  const required = (schema.required ?? []).filter(
    (name) => !('default' in (schema.properties[name] ?? {})),
  )
  return { ...schema, required, properties }
}

/** A schema of type "object" as plain JSON schema. */
export interface ObjectSchema extends TSchema {
  readonly title?: string
  readonly required?: string[]
  readonly properties: Readonly<Record<string, TSchema>>
}

function relaxed(schema: TSchema): TSchema {
  if (isObjectSchema(schema)) return requestSchema(schema)
  if ('items' in schema && isObjectSchema(schema.items)) {
    return { ...schema, items: requestSchema(schema.items) }
  }
  return schema
}

function isObjectSchema(schema: unknown): schema is ObjectSchema {
  return typeof schema === 'object' && schema !== null && 'properties' in schema
}
