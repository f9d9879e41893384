/**
 * The other end of the link for the node's own tests: a real gRPC server with its own CA that enrols nodes,
 * sends what a test tells it to and keeps what it is told. It stores counters once, like a control plane.
 */
import 'reflect-metadata'
import { createHash, randomBytes, randomUUID, webcrypto } from 'node:crypto'
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import {
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  PemConverter,
  Pkcs10CertificateRequest,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'
import type {
  ConfigureRequest,
  ConfigureResponse,
  CounterBatch,
  Hello,
  LogBatch,
  ReportRequest,
  ReportResponse,
  Update,
} from '@sluice/proto'
import {
  EnrolmentServiceService,
  FleetServiceService,
  TelemetryServiceService,
} from '@sluice/proto/services'
import { countRequests } from '../traffic-table.ts'
import { waitFor } from '../wait-for.fixture.ts'
import { SERVER_NAME } from './presented-authority.ts'

type ConfigureCall = ServerDuplexStream<ConfigureRequest, ConfigureResponse>
type Message = NonNullable<ConfigureRequest['message']>
type Values = { [One in Message as One['$case']]: One['value'] }

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const DAY_MS = 24 * 60 * 60 * 1000

export class ControlPlaneFixture {
  readonly messages: Message[] = []
  readonly hellos: Hello[] = []
  readonly counters = new Map<string, CounterBatch>()
  readonly logs = new Map<string, LogBatch>()
  /** Batches that came again. */
  repeated = 0
  /** What every call is refused with while it is set. */
  refusal: { code: status; details: string } | undefined
  /** The same for configuration streams alone. */
  configureRefusal: { code: status; details: string } | undefined
  /** While set, batches are neither stored nor acknowledged. */
  isDeaf = false
  /** Sent to every node that says hello. */
  update: Update | undefined
  nodeLifeMs = 30 * DAY_MS
  nodeStartedAgoMs = 0
  port = 0
  #server: Server | undefined
  #calls = new Set<ConfigureCall>()
  readonly #keys: webcrypto.CryptoKeyPair
  readonly #ca: X509Certificate
  readonly secret = randomBytes(32).toString('base64url')

  private constructor(keys: webcrypto.CryptoKeyPair, ca: X509Certificate) {
    this.#keys = keys
    this.#ca = ca
  }

  static async start(): Promise<ControlPlaneFixture> {
    cryptoProvider.set(webcrypto)
    const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
    const ca = await X509CertificateGenerator.createSelfSigned({
      serialNumber: '01',
      name: 'CN=Fixture CA',
      notBefore: new Date(Date.now() - 60_000),
      notAfter: new Date(Date.now() + DAY_MS),
      keys,
      signingAlgorithm: ALGORITHM,
      extensions: [new BasicConstraintsExtension(true, 0, true)],
    })
    const fixture = new ControlPlaneFixture(keys, ca)
    await fixture.up()
    return fixture
  }

  get address(): string {
    return `127.0.0.1:${this.port}`
  }

  get token(): string {
    const digest = createHash('sha256').update(Buffer.from(this.#ca.rawData)).digest('base64url')
    return `sluice-join.${this.secret}.${digest}`
  }

  get requestsStored(): number {
    return [...this.counters.values()].reduce((sum, batch) => sum + countRequests(batch), 0)
  }

  /** Listens, on the same port as before. */
  async up(): Promise<void> {
    const server = new Server()
    server.addService(EnrolmentServiceService, {
      enrol: (
        call: { request: { token: string; csrPem: string } },
        answer: (error: Partial<ServiceError> | null, response?: object) => void,
      ) => void this.#enrol(call.request, answer),
    })
    server.addService(FleetServiceService, { configure: (call: ConfigureCall) => this.#take(call) })
    server.addService(TelemetryServiceService, {
      report: (call: ServerDuplexStream<ReportRequest, ReportResponse>) => this.#report(call),
    })
    const leafKeys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
    const leaf = await this.#issue(leafKeys.publicKey, 'CN=control plane', [
      new SubjectAlternativeNameExtension([{ type: 'dns', value: SERVER_NAME }]),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
    ])
    const key = await webcrypto.subtle.exportKey('pkcs8', leafKeys.privateKey)
    const credentials = ServerCredentials.createSsl(
      null,
      [
        {
          private_key: Buffer.from(PemConverter.encode(key, 'PRIVATE KEY')),
          cert_chain: Buffer.from(`${leaf.toString('pem')}\n${this.#ca.toString('pem')}\n`),
        },
      ],
      false,
    )
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    server.bindAsync(`127.0.0.1:${this.port}`, credentials, (error, port) => {
      if (error === null) resolve(port)
      else reject(error)
    })
    this.port = await promise
    this.#server = server
  }

  /** Gone without a goodbye. */
  down(): void {
    this.#server?.forceShutdown()
    this.#calls.clear()
  }

  send(message: NonNullable<ConfigureResponse['message']>): void {
    for (const call of this.#calls) call.write({ message })
  }

  sendUpdate(update: Update): void {
    this.send({ $case: 'update', value: update })
  }

  cut(code: status, details: string): void {
    for (const call of this.#calls) call.emit('error', { code, details })
  }

  /** Waits for a message of this kind that was not taken before. */
  async take<Kind extends keyof Values>(kind: Kind): Promise<Values[Kind]> {
    const find = () => this.messages.findIndex(({ $case }) => $case === kind)
    await waitFor(() => find() >= 0, `a message ${kind}`)
    const [message] = this.messages.splice(find(), 1)
    // Found by its kind just above, which the compiler cannot follow.
    return message?.value as Values[Kind]
  }

  async #enrol(
    request: { token: string; csrPem: string },
    answer: (error: Partial<ServiceError> | null, response?: object) => void,
  ): Promise<void> {
    if (this.refusal !== undefined) return answer(this.refusal)
    if (request.token !== this.token) {
      return answer({ code: status.UNAUTHENTICATED, details: 'the token is not known' })
    }
    const nodeId = randomUUID()
    const certificatePem = await this.sign(request.csrPem, nodeId)
    return answer(null, { nodeId, certificatePem, caChainPem: this.#ca.toString('pem') })
  }

  #take(call: ConfigureCall): void {
    call.on('error', () => undefined)
    const refusal = this.refusal ?? this.configureRefusal
    if (refusal !== undefined) {
      call.emit('error', refusal)
      return
    }
    this.#calls.add(call)
    call.on('end', () => {
      this.#calls.delete(call)
      call.end()
    })
    call.on('cancelled', () => this.#calls.delete(call))
    call.on('data', ({ message }: ConfigureRequest) => {
      if (message === undefined) return
      this.messages.push(message)
      if (message.$case === 'hello') this.#greet(call, message.value)
      if (message.$case === 'renewal') void this.#renew(call, message.value.csrPem)
    })
  }

  #greet(call: ConfigureCall, hello: Hello): void {
    this.hellos.push(hello)
    call.sendMetadata(new Metadata())
    if (this.update === undefined) return
    call.write({ message: { $case: 'update', value: this.update } })
  }

  async #renew(call: ConfigureCall, csrPem: string): Promise<void> {
    this.nodeStartedAgoMs = 0
    const certificatePem = await this.sign(csrPem, this.hellos.at(-1)?.nodeId ?? '')
    const caChainPem = this.#ca.toString('pem')
    call.write({ message: { $case: 'renewal', value: { certificatePem, caChainPem } } })
  }

  #report(call: ServerDuplexStream<ReportRequest, ReportResponse>): void {
    call.on('error', () => undefined)
    call.on('end', () => call.end())
    call.on('data', ({ message }: ReportRequest) => {
      if (message === undefined || this.isDeaf) return
      const { bootId, sequence } = message.value
      const key = `${bootId}/${sequence}`
      if (message.$case === 'counters') {
        if (this.counters.has(key)) this.repeated += 1
        else this.counters.set(key, message.value)
        call.write({ message: { $case: 'countersStored', value: { bootId, sequence } } })
      } else {
        if (!this.logs.has(key)) this.logs.set(key, message.value)
        call.write({ message: { $case: 'logsStored', value: { bootId, sequence } } })
      }
    })
  }

  async sign(csrPem: string, nodeId: string): Promise<string> {
    const request = new Pkcs10CertificateRequest(csrPem)
    const key = await request.publicKey.export()
    const certificate = await this.#issue(key, `CN=${nodeId}`, [
      new SubjectAlternativeNameExtension([{ type: 'url', value: `sluice:node:${nodeId}` }]),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth]),
    ])
    return certificate.toString('pem')
  }

  #issue(
    publicKey: CryptoKey,
    subject: string,
    extensions: (SubjectAlternativeNameExtension | ExtendedKeyUsageExtension)[],
  ): Promise<X509Certificate> {
    const startMs = Date.now() - 1_000 - this.nodeStartedAgoMs
    return X509CertificateGenerator.create({
      serialNumber: randomBytes(8).toString('hex'),
      subject,
      issuer: this.#ca.subject,
      notBefore: new Date(startMs),
      notAfter: new Date(startMs + this.nodeLifeMs),
      signingKey: this.#keys.privateKey,
      publicKey,
      signingAlgorithm: ALGORITHM,
      extensions,
    })
  }
}
