/**
 * A node without traffic: both streams over a connection of its own, updates checked and answered, pings
 * answered, dialled again with the same jitter as a real node. Applying costs it nothing.
 */
import { randomUUID } from 'node:crypto'
import {
  type ClientDuplexStream,
  credentials,
  makeGenericClientConstructor,
  type ServiceError,
} from '@grpc/grpc-js'
import {
  ConfigureRequest,
  type CounterBatch,
  Hello,
  ReportRequest,
  ReportResponse,
} from '@sluice/proto'
import { channelOptions, type NodeIdentity } from './enrolment.ts'
import type { SharedVersions } from './shared-versions.ts'

const Client = makeGenericClientConstructor({}, 'simulated')
const RECONNECT_BASE_MS = 200
const RECONNECT_CAP_MS = 2_000
/** In front of each message of gRPC: a flag and the length. */
const PREFIX_BYTES = 5

type Raw = Buffer
type Stream = ClientDuplexStream<Buffer, Raw>

export interface SimulatedNodeOptions {
  readonly identity: NodeIdentity
  readonly address: string
  readonly versions: SharedVersions
  /** The node has applied and answered. */
  readonly onApplied: (node: SimulatedNode, version: bigint) => void
}

export class SimulatedNode {
  readonly #options: SimulatedNodeOptions
  readonly #bootId = randomUUID()
  readonly #credentials
  #client: InstanceType<typeof Client> | undefined
  #configuration: Stream | undefined
  #report: Stream | undefined
  #version = 0n
  #hash = ''
  #attempts = 0
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  #isConnected = false
  #sequence = 0n
  /** Batches without an acknowledgement, oldest first. */
  readonly #unstored = new Map<bigint, CounterBatch>()
  bytesReceived = 0
  fullUpdates = 0
  batchesStored = 0

  constructor(options: SimulatedNodeOptions) {
    this.#options = options
    const { caPem, privateKeyPem, certificatePem } = options.identity
    const [ca, key, certificate] = [caPem, privateKeyPem, certificatePem].map((pem) =>
      Buffer.from(pem),
    )
    this.#credentials = credentials.createSsl(ca, key, certificate)
  }

  get version(): bigint {
    return this.#version
  }

  /** Its stream was taken. */
  get isConnected(): boolean {
    return this.#isConnected
  }

  get batchesWaiting(): number {
    return this.#unstored.size
  }

  connect(): void {
    const client = new Client(this.#options.address, this.#credentials, channelOptions)
    this.#client = client
    const stream = openStream(client, '/sluice.v1.FleetService/Configure')
    this.#configuration = stream
    stream.on('metadata', () => {
      this.#attempts = 0
      this.#isConnected = true
      this.#startReport(client)
    })
    stream.on('data', (bytes: Raw) => this.#take(bytes))
    stream.on('error', (_error: ServiceError) => undefined)
    stream.on('status', () => this.#ended(client))
    this.#send({ $case: 'hello', value: this.#hello() })
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    this.#client?.close()
    this.#configuration?.cancel()
    this.#report?.cancel()
  }

  /** Kept until it is acknowledged, as a node keeps it. */
  count(rows: CounterBatch['rows']): void {
    this.#sequence += 1n
    const batch: CounterBatch = { bootId: this.#bootId, sequence: this.#sequence, rows }
    this.#unstored.set(batch.sequence, batch)
    this.#sendCounters(batch)
  }

  #hello(): Hello {
    return {
      ...Hello.create(),
      nodeId: this.#options.identity.nodeId,
      bootId: this.#bootId,
      softwareVersion: 'simulated',
      features: ['delta', 'proxy-protocol'],
      version: this.#version,
      hash: this.#hash,
      workers: 1,
      timeMs: BigInt(Date.now()),
    }
  }

  #take(bytes: Raw): void {
    this.bytesReceived += bytes.length + PREFIX_BYTES
    const step = this.#options.versions.read(bytes, this.#hash)
    switch (step.kind) {
      case 'applied':
        this.#version = step.version
        this.#hash = step.hash
        this.#send({
          $case: 'applied',
          value: { version: step.version, hash: step.hash, tookMs: 0 },
        })
        this.#options.onApplied(this, step.version)
        break
      case 'full-needed':
        this.fullUpdates += 1
        this.#send({ $case: 'full', value: {} })
        break
      case 'other':
        if (step.message?.$case === 'ping') {
          const { id } = step.message.value
          this.#send({ $case: 'pong', value: { id, timeMs: BigInt(Date.now()) } })
        }
    }
  }

  #send(message: ConfigureRequest['message']): void {
    this.#configuration?.write(Buffer.from(ConfigureRequest.encode({ message }).finish()))
  }

  #startReport(client: InstanceType<typeof Client>): void {
    if (this.#client !== client || this.#isStopped) return
    const stream = openStream(client, '/sluice.v1.TelemetryService/Report')
    this.#report = stream
    stream.on('data', (bytes: Raw) => this.#takeAnswer(bytes))
    stream.on('error', (_error: ServiceError) => undefined)
    stream.on('status', () => {
      if (this.#report !== stream) return
      this.#report = undefined
      this.#timer = setTimeout(() => this.#startReport(client), this.#delayMs())
    })
    for (const batch of this.#unstored.values()) this.#sendCounters(batch)
  }

  #sendCounters(batch: CounterBatch): void {
    const message = { $case: 'counters' as const, value: batch }
    this.#report?.write(Buffer.from(ReportRequest.encode({ message }).finish()))
  }

  #takeAnswer(bytes: Raw): void {
    const { message } = ReportResponse.decode(bytes)
    if (message?.$case !== 'countersStored') return
    if (this.#unstored.delete(message.value.sequence)) this.batchesStored += 1
  }

  #ended(client: InstanceType<typeof Client>): void {
    client.close()
    if (this.#client !== client || this.#isStopped) return
    this.#client = undefined
    this.#report = undefined
    this.#isConnected = false
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.connect(), this.#delayMs())
  }

  #delayMs(): number {
    const ceiling = Math.min(RECONNECT_CAP_MS, RECONNECT_BASE_MS * 2 ** this.#attempts)
    if (ceiling < RECONNECT_CAP_MS) this.#attempts += 1
    return Math.random() * ceiling
  }
}

const same = (bytes: Buffer): Buffer => bytes

function openStream(client: InstanceType<typeof Client>, path: string): Stream {
  return client.makeBidiStreamRequest(path, same, same)
}
