/** What is open in a worker, and totals that must reconcile: accepted = closed + open, started = ended + open. */
import type { WorkerGauges } from '../../worker-protocol.ts'

export class Gauges {
  connectionsAccepted = 0
  connectionsClosed = 0
  connectionsShed = 0
  proxyHeadersRefused = 0
  exchangesStarted = 0
  exchangesEnded = 0
  exchangesWaiting = 0
  exchangesShed = 0
  upstreamConnectionsOpen = 0
  upstreamConnectionsIdle = 0
  namesFailing = 0
  nameLookupsFailed = 0
  serversHealthy = 0
  serversUnhealthy = 0

  get connectionsOpen(): number {
    return this.connectionsAccepted - this.connectionsClosed
  }

  snapshot(): WorkerGauges {
    return {
      connectionsAccepted: this.connectionsAccepted,
      connectionsClosed: this.connectionsClosed,
      connectionsOpen: this.connectionsOpen,
      exchangesStarted: this.exchangesStarted,
      exchangesEnded: this.exchangesEnded,
      exchangesOpen: this.exchangesStarted - this.exchangesEnded,
      exchangesWaiting: this.exchangesWaiting,
      exchangesShed: this.exchangesShed,
      upstreamConnectionsOpen: this.upstreamConnectionsOpen,
      upstreamConnectionsIdle: this.upstreamConnectionsIdle,
      namesFailing: this.namesFailing,
      nameLookupsFailed: this.nameLookupsFailed,
      serversHealthy: this.serversHealthy,
      serversUnhealthy: this.serversUnhealthy,
      connectionsShed: this.connectionsShed,
      proxyHeadersRefused: this.proxyHeadersRefused,
    }
  }
}
