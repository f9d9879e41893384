/** Asks for a new node certificate when two thirds of the old one's life are over, while there is a stream. */
import type { Renewal } from '@sluice/proto'
import type { Logger } from 'pino'
import { reasonOf } from '../errors.ts'
import { limits } from '../limits.ts'
import {
  type Identity,
  identityFault,
  type KeyRequest,
  makeKeyRequest,
  renewalDueAtMs,
} from './identity.ts'

export interface CertificateRenewalOptions {
  readonly identity: Identity
  readonly logger: Logger
  readonly request: (csrPem: string) => void
}

export class CertificateRenewal {
  readonly #options: CertificateRenewalOptions
  #timer: NodeJS.Timeout | undefined
  #asked: KeyRequest | undefined
  #isStopped = false

  constructor(options: CertificateRenewalOptions) {
    this.#options = options
    this.#arm(renewalDueAtMs(options.identity))
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  /** The identity with the new certificate; undefined when the answer cannot be used. */
  take({ certificatePem, caChainPem }: Renewal): Identity | undefined {
    const asked = this.#asked
    this.#asked = undefined
    const { identity, logger } = this.#options
    if (asked === undefined) return undefined
    const caPem = caChainPem === '' ? identity.caPem : caChainPem
    const { privateKeyPem } = asked
    const renewed = { nodeId: identity.nodeId, privateKeyPem, certificatePem, caPem }
    const fault = identityFault(renewed)
    if (fault === undefined) return Object.freeze(renewed)
    logger.error({ reason: fault }, 'the renewed certificate cannot be used')
    return undefined
  }

  #arm(dueAtMs: number): void {
    const delayMs = Math.min(Math.max(0, dueAtMs - Date.now()), limits.timerMaxMs)
    this.#timer = setTimeout(() => {
      if (Date.now() < dueAtMs) this.#arm(dueAtMs)
      else void this.#ask()
    }, delayMs)
  }

  async #ask(): Promise<void> {
    this.#arm(Date.now() + limits.renewalRetryMs)
    try {
      this.#asked = await makeKeyRequest()
    } catch (error) {
      this.#options.logger.error({ reason: reasonOf(error) }, 'no key for a renewal could be made')
      return
    }
    if (!this.#isStopped) this.#options.request(this.#asked.csrPem)
  }
}
