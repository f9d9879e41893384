import { status } from '@grpc/grpc-js'
import { fleetLimits } from './limits.ts'

/** Ends a call with a status; the text is meant for whoever runs the node. */
export class FleetRefusal extends Error {
  override readonly name = 'FleetRefusal'
  readonly code: status
  /** The text as it goes into a trailer: grpc-js percent-encodes it, which lone surrogates would break. */
  readonly details: string

  constructor(code: status, message: string) {
    super(message)
    this.code = code
    this.details = message.slice(0, fleetLimits.detailsCharactersMax).toWellFormed()
  }
}

export function invalid(message: string): FleetRefusal {
  return new FleetRefusal(status.INVALID_ARGUMENT, message)
}
