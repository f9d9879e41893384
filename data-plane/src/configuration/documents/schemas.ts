/**
 * What the documents of a static file may hold: the fields, bounds and defaults that `sluice apply` has. The
 * control plane has its own schemas of them; proto/contract/documents.yaml keeps the two alike.
 */
import Type, { type Static, type TSchema } from 'typebox'

export const documentLimits = Object.freeze({
  nameCharactersMax: 63,
  hostCharactersMax: 253,
  hostsMax: 1_000,
  pathsMax: 1_000,
  regexesMax: 100,
  methodsMax: 50,
  rangesMax: 1_000,
  entryPointsMax: 100,
  serversMax: 1_000,
  healthResultsMax: 100,
  serverWeightMax: 1_000,
  idleConnectionsMax: 10_000,
  connectionsMax: 1_000_000,
  queueMax: 100_000,
  timeoutMsMax: 86_400_000,
  logsPerSecondMax: 1_000,
  labelsMax: 32,
  labelKeyCharactersMax: 63,
  labelValueCharactersMax: 255,
  versionsAlwaysKept: 50,
  versionsKeptMax: 1_000_000,
  versionDaysMax: 36_500,
  textCharactersMax: 2_048,
  pemCharactersMax: 262_144,
})

const limits = documentLimits
const STRICT = { additionalProperties: false } as const

// As a plain string: TypeBox would read a literal pattern into the type.
const NAME: string = '^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$'
const Name = Type.String({
  pattern: NAME,
  description:
    'a name of 1 to 63 characters a-z, 0-9, "." and "-" that begins and ends with a letter or digit',
})
const Reference = Type.String({ minLength: 1, maxLength: limits.nameCharactersMax })
const Text = Type.String({ minLength: 1, maxLength: limits.textCharactersMax })
const Pem = Type.Optional(Type.String({ minLength: 1, maxLength: limits.pemCharactersMax }))
const Path = Type.Optional(Type.String({ minLength: 1, maxLength: limits.textCharactersMax }))
const list = (item: Type.TString, maxItems: number) =>
  Type.Optional(Type.Array(item, { maxItems, default: [] }))
const count = (maximum: number, byDefault: number) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum, default: byDefault }))
const milliseconds = (byDefault: number) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: limits.timeoutMsMax, default: byDefault }))

/** Operators sort resources by these; they never reach a node's configuration. */
const Labels = Type.Optional(
  Type.Record(
    Type.String(),
    Type.String({ maxLength: limits.labelValueCharactersMax, pattern: '^[\\x20-\\x7e]*$' }),
    {
      maxProperties: limits.labelsMax,
      propertyNames: {
        pattern: '^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$',
        maxLength: limits.labelKeyCharactersMax,
      },
    },
  ),
)

const EntryPointDocument = Type.Object(
  {
    kind: Type.Literal('entry-point'),
    name: Name,
    labels: Labels,
    address: Type.String({ maxLength: limits.textCharactersMax }),
    protocol: Type.Enum(['http', 'https']),
    trustedPeers: list(Text, limits.rangesMax),
    proxyProtocolPeers: list(Text, limits.rangesMax),
    // The wire has no other word for none.
    defaultCertificate: Type.Optional(
      Type.String({ minLength: 1, maxLength: limits.nameCharactersMax }),
    ),
  },
  STRICT,
)

const RouterDocument = Type.Object(
  {
    kind: Type.Literal('router'),
    name: Name,
    labels: Labels,
    entryPoints: list(Reference, limits.entryPointsMax),
    match: Type.Optional(
      Type.Object(
        {
          hosts: list(Text, limits.hostsMax),
          pathPrefixes: list(Text, limits.pathsMax),
          pathRegexes: list(Text, limits.regexesMax),
          methods: list(Text, limits.methodsMax),
          clientRanges: list(Text, limits.rangesMax),
        },
        { ...STRICT, default: {} },
      ),
    ),
    priority: Type.Optional(
      Type.Integer({ minimum: -2_147_483_648, maximum: 2_147_483_647, default: 0 }),
    ),
    service: Reference,
    nodes: Type.Optional(Type.Record(Type.String(), Type.String(), { default: {} })),
    drain: Type.Optional(Type.Boolean({ default: false })),
  },
  STRICT,
)

function results(number: number) {
  return Type.Optional(
    Type.Integer({ minimum: 1, maximum: limits.healthResultsMax, default: number }),
  )
}

const ServerDocument = Type.Object(
  {
    url: Type.String({ maxLength: limits.textCharactersMax }),
    weight: Type.Optional(
      Type.Integer({ minimum: 0, maximum: limits.serverWeightMax, default: 1 }),
    ),
    drain: Type.Optional(Type.Boolean({ default: false })),
  },
  STRICT,
)

const HealthCheckDocument = Type.Object(
  {
    path: Type.String({ minLength: 1, maxLength: limits.textCharactersMax }),
    intervalMs: milliseconds(5_000),
    timeoutMs: milliseconds(1_000),
    unhealthyAfter: results(3),
    healthyAfter: results(1),
    status: Type.Optional(Type.Integer({ minimum: 200, maximum: 599 })),
    initial: Type.Optional(Type.Enum(['healthy', 'unhealthy'], { default: 'healthy' })),
    failOpen: Type.Optional(Type.Boolean({ default: false })),
  },
  STRICT,
)

const ServiceDocument = Type.Object(
  {
    kind: Type.Literal('service'),
    name: Name,
    labels: Labels,
    servers: Type.Array(ServerDocument, { minItems: 1, maxItems: limits.serversMax }),
    timeouts: Type.Optional(
      Type.Object(
        {
          connectMs: milliseconds(5_000),
          firstByteMs: milliseconds(60_000),
          idleMs: milliseconds(60_000),
          queueMs: milliseconds(5_000),
        },
        { ...STRICT, default: {} },
      ),
    ),
    idleConnectionsMax: count(limits.idleConnectionsMax, 1_024),
    connectionsMax: count(limits.connectionsMax, 0),
    queueMax: count(limits.queueMax, 1_024),
    connectionAgeMaxMs: count(limits.timeoutMsMax, 3_600_000),
    passHost: Type.Optional(Type.Boolean({ default: true })),
    proxyProtocol: Type.Optional(Type.Enum(['off', 'v1', 'v2'], { default: 'off' })),
    healthCheck: Type.Optional(HealthCheckDocument),
    slowStartMs: count(limits.timeoutMsMax, 0),
  },
  STRICT,
)

/** Chain and key stand in the document or, in a static file only, in files of their own. */
const CertificateDocument = Type.Object(
  {
    kind: Type.Literal('certificate'),
    name: Name,
    labels: Labels,
    source: Type.Literal('uploaded'),
    chainPem: Pem,
    privateKeyPem: Pem,
    chainFile: Path,
    privateKeyFile: Path,
  },
  STRICT,
)
export type CertificateDocument = Static<typeof CertificateDocument>

const SettingsDocument = Type.Object(
  {
    kind: Type.Literal('settings'),
    labels: Labels,
    logs: Type.Optional(
      Type.Object(
        {
          perSecondPerNode: Type.Optional(
            Type.Integer({ minimum: 0, maximum: limits.logsPerSecondMax, default: 10 }),
          ),
        },
        { ...STRICT, default: {} },
      ),
    ),
    // Of the control plane alone: a file that was exported there is a file for here.
    versions: Type.Optional(
      Type.Object(
        {
          countMax: Type.Optional(
            Type.Integer({ minimum: limits.versionsAlwaysKept, maximum: limits.versionsKeptMax }),
          ),
          daysMax: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.versionDaysMax })),
        },
        STRICT,
      ),
    ),
  },
  STRICT,
)

export const documentSchemas = {
  'entry-point': EntryPointDocument,
  router: RouterDocument,
  service: ServiceDocument,
  certificate: CertificateDocument,
  settings: SettingsDocument,
} satisfies Record<string, TSchema>

export type DocumentKind = keyof typeof documentSchemas
export const DOCUMENT_KINDS = Object.keys(documentSchemas) as readonly DocumentKind[]
