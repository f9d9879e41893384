/** One configuration stream: hello first, then what the control plane sends, one handler for each message. */
import type { ClientDuplexStream, ServiceError, StatusObject } from '@grpc/grpc-js'
import type {
  ConfigureRequest,
  ConfigureResponse,
  Hello,
  LogRaise,
  Renewal,
  Standing,
  Update,
} from '@sluice/proto'
import { limits } from '../limits.ts'

export type ConfigureMessage = NonNullable<ConfigureRequest['message']>

export interface ConfigurationStreamHandlers {
  /** The control plane has taken the session. */
  readonly onAccepted: () => void
  readonly onUpdate: (update: Update) => void
  readonly onStanding: (standing: Standing) => void
  readonly onLogRaise: (raise: LogRaise) => void
  readonly onRenewal: (renewal: Renewal) => void
}

export type StreamEnd = Pick<ServiceError, 'code' | 'details'>

export class ConfigurationStream {
  readonly #call: ClientDuplexStream<ConfigureRequest, ConfigureResponse>
  readonly #handlers: ConfigurationStreamHandlers
  readonly #ended = Promise.withResolvers<StreamEnd>()
  #silenceTimer: NodeJS.Timeout | undefined
  #isAccepted = false

  constructor(
    call: ClientDuplexStream<ConfigureRequest, ConfigureResponse>,
    hello: Hello,
    handlers: ConfigurationStreamHandlers,
  ) {
    this.#call = call
    this.#handlers = handlers
    call.on('metadata', () => this.#accept())
    call.on('data', (response: ConfigureResponse) => this.#take(response))
    // The status says what ended the stream, and comes after the error.
    call.on('error', () => undefined)
    call.on('status', (end: StatusObject) => {
      clearTimeout(this.#silenceTimer)
      this.#ended.resolve({ code: end.code, details: end.details })
    })
    this.send({ $case: 'hello', value: hello })
  }

  /** How it ended. */
  get ended(): Promise<StreamEnd> {
    return this.#ended.promise
  }

  send(message: ConfigureMessage): void {
    if (!this.#call.writable) return
    // Everything sent here answers something: who does not read the answers gets no more of them.
    if (this.#call.write({ message }) || this.#call.isPaused()) return
    this.#call.pause()
    this.#call.once('drain', () => this.#call.resume())
  }

  /** The connection stands. A control plane with nothing to say is silent, but a refusal comes soon. */
  awaitAnswer(): void {
    this.#silenceTimer = setTimeout(() => this.#accept(), limits.sessionSilentMs)
  }

  cancel(): void {
    this.#call.cancel()
  }

  /** Lets the control plane end it too; then, or after a bounded time, it is over. */
  async end(): Promise<void> {
    this.#call.end()
    const timer = setTimeout(() => this.#call.cancel(), limits.streamEndTimeoutMs)
    await this.#ended.promise
    clearTimeout(timer)
  }

  #accept(): void {
    if (this.#isAccepted) return
    this.#isAccepted = true
    clearTimeout(this.#silenceTimer)
    this.#handlers.onAccepted()
  }

  #take({ message }: ConfigureResponse): void {
    this.#accept()
    switch (message?.$case) {
      case 'update':
        this.#handlers.onUpdate(message.value)
        break
      case 'standing':
        this.#handlers.onStanding(message.value)
        break
      case 'logRaise':
        this.#handlers.onLogRaise(message.value)
        break
      case 'renewal':
        this.#handlers.onRenewal(message.value)
        break
      case 'ping':
        this.send({ $case: 'pong', value: { id: message.value.id, timeMs: BigInt(Date.now()) } })
        break
      case undefined:
        // A message of a newer control plane.
        break
    }
  }
}
