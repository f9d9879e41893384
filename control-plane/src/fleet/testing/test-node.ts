/** A small node: enrols and speaks both streams over real TLS, and lets a test see every message. */
import { connect as connectHttp2 } from 'node:http2'
import {
  type ClientDuplexStream,
  credentials,
  type ServiceError,
  type StatusObject,
  type status,
} from '@grpc/grpc-js'
import {
  ConfigureRequest,
  type ConfigureResponse,
  type EnrolRequest,
  type EnrolResponse,
  Hello,
  type ReportRequest,
  type ReportResponse,
  type Update,
} from '@sluice/proto'
import {
  EnrolmentServiceClient,
  FleetServiceClient,
  TelemetryServiceClient,
} from '@sluice/proto/services'
import { fleetServerName } from '../../certificates/authority.ts'
import { makeCsr } from '../../certificates/testing/make-csr.ts'
import type { TestFleet } from './test-fleet.ts'

const waitMs = 5_000
const channelOptions = {
  'grpc.ssl_target_name_override': fleetServerName,
  'grpc.max_receive_message_length': 64 * 1_048_576,
  'grpc.max_send_message_length': -1,
  'grpc.enable_channelz': 0,
}

export interface TestIdentity {
  readonly caPem: string
  readonly privateKeyPem: string
  readonly certificatePem: string
}

/** What came, or `[code, details]` of the refusal. */
export function enrol(
  fleet: TestFleet,
  request: Partial<EnrolRequest>,
): Promise<EnrolResponse | [status, string]> {
  const client = new EnrolmentServiceClient(
    fleet.address,
    credentials.createSsl(Buffer.from(fleet.authority.caPem)),
    channelOptions,
  )
  return new Promise((resolve) => {
    const whole = { token: '', csrPem: '', name: '', labels: {}, ...request }
    client.enrol(whole, (error: ServiceError | null, response: EnrolResponse) => {
      client.close()
      resolve(error === null ? response : [error.code, error.details])
    })
  })
}

export class TestNode {
  readonly fleet: TestFleet
  readonly id: string
  readonly name: string
  identity: TestIdentity
  readonly #clients: (FleetServiceClient | TelemetryServiceClient)[] = []

  constructor(fleet: TestFleet, id: string, name: string, identity: TestIdentity) {
    this.fleet = fleet
    this.id = id
    this.name = name
    this.identity = identity
  }

  static async enrolled(fleet: TestFleet, name: string): Promise<TestNode> {
    const { privateKeyPem, csrPem } = await makeCsr()
    const answer = await enrol(fleet, { token: await fleet.token(), csrPem, name })
    if (Array.isArray(answer)) {
      throw new Error(`enrolment was refused: ${answer}`)
    }
    const { nodeId, certificatePem, caChainPem } = answer
    return new TestNode(fleet, nodeId, name, { caPem: caChainPem, privateKeyPem, certificatePem })
  }

  /** Opens the configuration stream without a word. */
  configure(): TestStream<ConfigureRequest, ConfigureResponse> {
    const client = new FleetServiceClient(this.fleet.address, this.#credentials(), channelOptions)
    this.#clients.push(client)
    return new TestStream(client.configure(), (stream, { message }) => {
      if (message?.$case === 'ping' && stream.answersPings) {
        stream.send({ $case: 'pong', value: { id: message.value.id, timeMs: BigInt(Date.now()) } })
        return true
      }
      return false
    })
  }

  /** Opens the configuration stream and says hello. */
  connect(hello: Partial<Hello> = {}): TestStream<ConfigureRequest, ConfigureResponse> {
    const stream = this.configure()
    stream.send({ $case: 'hello', value: this.hello(hello) })
    return stream
  }

  /** Connects and waits until the control plane has taken the session. */
  async connected(
    hello: Partial<Hello> = {},
  ): Promise<TestStream<ConfigureRequest, ConfigureResponse>> {
    const stream = this.connect(hello)
    await stream.accepted
    return stream
  }

  hello(hello: Partial<Hello> = {}): Hello {
    return { ...Hello.create(), nodeId: this.id, bootId: 'boot-1', softwareVersion: '1', ...hello }
  }

  report(): TestStream<ReportRequest, ReportResponse> {
    const client = new TelemetryServiceClient(
      this.fleet.address,
      this.#credentials(),
      channelOptions,
    )
    this.#clients.push(client)
    return new TestStream(client.report(), () => false)
  }

  close(): void {
    for (const client of this.#clients.splice(0)) {
      client.close()
    }
  }

  #credentials() {
    const { caPem, privateKeyPem, certificatePem } = this.identity
    return credentials.createSsl(
      Buffer.from(caPem),
      Buffer.from(privateKeyPem),
      Buffer.from(certificatePem),
    )
  }
}

export class TestStream<Request extends { message: unknown }, Response> {
  readonly call: ClientDuplexStream<Request, Response>
  /** Settles with the stream's status, as `[code, details]`. */
  readonly ended: Promise<[status, string]>
  readonly accepted: Promise<void>
  answersPings = true
  readonly #received: Response[] = []
  readonly #waiting: ((response: Response) => void)[] = []

  constructor(
    call: ClientDuplexStream<Request, Response>,
    answer: (stream: TestStream<Request, Response>, response: Response) => boolean,
  ) {
    this.call = call
    call.on('error', () => undefined)
    this.ended = new Promise((resolve) => {
      call.on('status', ({ code, details }: StatusObject) => resolve([code, details]))
    })
    this.accepted = new Promise((resolve) => call.on('metadata', () => resolve()))
    call.on('data', (response: Response) => {
      if (answer(this, response)) {
        return
      }
      const waiting = this.#waiting.shift()
      if (waiting === undefined) {
        this.#received.push(response)
      } else {
        waiting(response)
      }
    })
  }

  /** Messages that came and were not taken yet. */
  get unread(): number {
    return this.#received.length
  }

  send(message: Request['message']): void {
    this.call.write({ message } as Request)
  }

  next(): Promise<Response> {
    const received = this.#received.shift()
    if (received !== undefined) {
      return Promise.resolve(received)
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('no message came')), waitMs)
      this.#waiting.push((response) => {
        clearTimeout(timer)
        resolve(response)
      })
    })
  }
}

/** The next message, which must be an update. */
export async function nextUpdate(
  stream: TestStream<ConfigureRequest, ConfigureResponse>,
): Promise<Update> {
  const { message } = await stream.next()
  if (message?.$case !== 'update') {
    throw new Error(`expected an update, not ${message?.$case}`)
  }
  return message.value
}

/** Takes the next update and answers that it is applied. */
export async function apply(
  stream: TestStream<ConfigureRequest, ConfigureResponse>,
): Promise<bigint> {
  const { version, hash } = await nextUpdate(stream)
  stream.send({ $case: 'applied', value: { version, hash, tookMs: 7 } })
  return version
}

/** A node that says hello and then reads nothing that is sent to it. Resolves when its stream is reset. */
export function connectWithoutReading(node: TestNode): { readonly reset: Promise<void> } {
  const { caPem, privateKeyPem, certificatePem } = node.identity
  const session = connectHttp2(`https://${node.fleet.address}`, {
    ca: caPem,
    key: privateKeyPem,
    cert: certificatePem,
    servername: fleetServerName,
  })
  const stream = session.request({
    ':method': 'POST',
    ':path': FleetServiceClient.service.configure.path,
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  // Without a reader for its data, HTTP/2 never widens the window of the stream.
  const reset = new Promise<void>((resolve) => {
    stream.on('error', () => undefined)
    stream.on('close', () => {
      session.destroy()
      resolve()
    })
  })
  const message = ConfigureRequest.encode({ message: { $case: 'hello', value: node.hello() } })
  const bytes = message.finish()
  const head = Buffer.alloc(5)
  head.writeUInt32BE(bytes.length, 1)
  stream.write(Buffer.concat([head, bytes]))
  return { reset }
}
