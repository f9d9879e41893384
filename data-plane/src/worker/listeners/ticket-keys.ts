/**
 * The keys that seal TLS session tickets (RFC 8446 section 4.6.1, RFC 5077). All workers of a node have the
 * same, so that a client resumes its session with whichever worker takes its next connection, and with the
 * one that replaces it. A ticket is good for the newest key and the ones before it that are still kept.
 */
import { randomBytes } from 'node:crypto'
import type { Server } from 'node:tls'
import { TICKET_KEY_BYTES } from '../../worker-protocol.ts'

const NAME_BYTES = 16
const SECRET_BYTES = 16
const IV_BYTES = 16

/** What OpenSSL's callback for ticket keys answers. */
const UNKNOWN = 0
const SEALED = 1
/** Readable, and the client gets a new one: by TLS 1.3 it should use a ticket only once. */
const RENEW = 2

interface TicketKey {
  readonly name: Buffer
  readonly macKey: Buffer
  readonly cipherKey: Buffer
}

type TicketKeyAnswer =
  | [answer: number, macKey: Buffer, cipherKey: Buffer]
  | [answer: number, macKey: Buffer, cipherKey: Buffer, name: Buffer, iv: Buffer]

/** What Node has below a SecureContext, as far as it is used here; its own tests use it like this. */
interface TicketContext {
  enableTicketKeyCallback(): void
  onticketkeycallback(name: Buffer, iv: Buffer, isSealing: boolean): TicketKeyAnswer
}

export class TicketKeys {
  #keys: readonly [TicketKey, ...TicketKey[]] = [parse(randomBytes(TICKET_KEY_BYTES))]

  /** Newest first. None: nothing changes. */
  set(keys: readonly Uint8Array[]): void {
    const [newest, ...older] = keys.map(parse)
    if (newest !== undefined) this.#keys = [newest, ...older]
  }

  /**
   * For all tickets of the server; to be called again when its context was replaced. Where Node's internals
   * are other than expected, OpenSSL makes keys of its own for each worker.
   */
  use(server: Server): void {
    const context: TicketContext | undefined = Reflect.get(server, '_sharedCreds')?.context
    if (typeof context?.enableTicketKeyCallback !== 'function') return
    context.onticketkeycallback = (name, _iv, isSealing) =>
      isSealing ? this.#seal() : this.#find(name)
    context.enableTicketKeyCallback()
  }

  #seal(): TicketKeyAnswer {
    const [{ macKey, cipherKey, name }] = this.#keys
    return [SEALED, macKey, cipherKey, name, randomBytes(IV_BYTES)]
  }

  #find(name: Buffer): TicketKeyAnswer {
    const key = this.#keys.find((one) => one.name.equals(name))
    const { macKey, cipherKey } = key ?? this.#keys[0]
    return [key === undefined ? UNKNOWN : RENEW, macKey, cipherKey]
  }
}

function parse(bytes: Uint8Array): TicketKey {
  const key = Buffer.from(bytes)
  return {
    name: key.subarray(0, NAME_BYTES),
    macKey: key.subarray(NAME_BYTES, NAME_BYTES + SECRET_BYTES),
    cipherKey: key.subarray(NAME_BYTES + SECRET_BYTES),
  }
}
