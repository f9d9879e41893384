/** Where connections go and how: what all of one target share. */
import { readFileSync } from 'node:fs'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { LoadPlan, LoadTarget } from '../load-plan.ts'
import { SessionTickets } from './session-tickets.ts'

/** A server gives two tickets for each full handshake; what a slot could not use soon is not worth memory. */
const TICKETS_PER_CONNECTION = 2

export interface Endpoint {
  readonly address: string
  readonly port: number
  readonly localAddress: string | undefined
  readonly tls: EndpointTls | undefined
  readonly isForOneRequest: boolean
  /** What checked bodies repeat. */
  readonly pattern: Uint8Array
}

interface EndpointTls {
  readonly serverName: string
  readonly context: SecureContext
  readonly tickets: SessionTickets
}

/** For each target one endpoint for each source address. */
export function endpointsOf(plan: LoadPlan): readonly (readonly Endpoint[])[] {
  const pattern = Buffer.from(plan.expected.bodyPattern ?? '')
  const sources = plan.sourceAddresses.length === 0 ? [undefined] : plan.sourceAddresses
  return plan.targets.map((target) => {
    const tls = tlsOf(target, plan.connections * TICKETS_PER_CONNECTION)
    return sources.map((localAddress) => ({
      address: target.address,
      port: target.port,
      localAddress,
      tls,
      isForOneRequest: plan.isConnectionPerRequest,
      pattern,
    }))
  })
}

function tlsOf({ tls }: LoadTarget, ticketsMax: number): EndpointTls | undefined {
  if (tls === undefined) return undefined
  return {
    serverName: tls.serverName,
    context: createSecureContext({ ca: readFileSync(tls.authorityFile) }),
    tickets: new SessionTickets(ticketsMax),
  }
}
