/** /metrics in the Prometheus text format. */
import { STATUS_CLASSES } from '../worker-protocol.ts'
import type { NodeCounters } from './node-counters.ts'
import type { OutletFigures } from './report-outlet.ts'

export interface MetricSource extends OutletFigures {
  readonly counters: NodeCounters
  readonly version: bigint
  readonly isReady: boolean
  readonly isConnected: boolean
  readonly isDiskFailing: boolean
  readonly workers: number
  readonly workersEnded: number
  readonly logRequestsNotKept: number
}

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number]

export function metricsText(source: MetricSource): string {
  return [...nodeMetrics(source), ...workerMetrics(source), ...trafficMetrics(source)].join('')
}

function nodeMetrics(source: MetricSource): string[] {
  return [
    gauge('version', 'Number of the running version; 0: none.', Number(source.version)),
    gauge('ready', '1 when every worker serves a version.', Number(source.isReady)),
    gauge('connected', '1 while the control plane is connected.', Number(source.isConnected)),
    gauge(
      'disk_failing',
      '1 while the data folder does not take the running version or counters.',
      Number(source.isDiskFailing),
    ),
    gauge('workers', 'Worker processes.', source.workers),
    counter('workers_ended_total', 'Workers that ended.', source.workersEnded),
    gauge(
      'telemetry_rows_waiting',
      'Rows of counters that are not sent yet.',
      source.telemetryRowsWaiting,
    ),
    counter(
      'telemetry_rows_coarsened_total',
      'Rows that lost their minute or names while too many waited.',
      source.telemetryRowsCoarsened,
    ),
    counter(
      'telemetry_requests_refused_total',
      'Requests in batches that the control plane refused; they are kept in the data folder.',
      source.telemetryRequestsRefused,
    ),
    counter('log_lines_sent_total', 'Lines that the control plane has.', source.logLinesSent),
    gauge('log_lines_waiting', 'Lines that are not sent yet.', source.logLinesWaiting),
    counter(
      'log_lines_dropped_total',
      'Lines that sampling kept and nobody got: no control plane, or too many that waited.',
      source.logLinesDropped,
    ),
    counter(
      'log_requests_not_kept_total',
      'Requests for which sampling kept no line.',
      source.logRequestsNotKept,
    ),
  ]
}

function workerMetrics({ counters }: MetricSource): string[] {
  const gauges = counters.gauges()
  return [
    counter('connections_accepted_total', 'Client connections.', gauges.connectionsAccepted),
    counter('connections_closed_total', 'Client connections.', gauges.connectionsClosed),
    counter('connections_shed_total', 'Refused at a limit.', gauges.connectionsShed),
    counter(
      'proxy_headers_refused_total',
      'Connections whose PROXY protocol header was malformed, too long or late.',
      gauges.proxyHeadersRefused,
    ),
    gauge('connections_open', 'Client connections.', gauges.connectionsOpen),
    counter('exchanges_started_total', 'Exchanges.', gauges.exchangesStarted),
    counter('exchanges_ended_total', 'Exchanges.', gauges.exchangesEnded),
    gauge('exchanges_open', 'Exchanges.', gauges.exchangesOpen),
    gauge('exchanges_waiting', 'For a connection to a server.', gauges.exchangesWaiting),
    counter('exchanges_shed_total', 'Refused at a full queue.', gauges.exchangesShed),
    gauge('upstream_connections_open', 'To servers.', gauges.upstreamConnectionsOpen),
    gauge('upstream_connections_idle', 'To servers.', gauges.upstreamConnectionsIdle),
    gauge('names_failing', 'Server names without an answer, by worker.', gauges.namesFailing),
    gauge('servers_healthy', 'By health checks, service and worker.', gauges.serversHealthy),
    gauge('servers_unhealthy', 'By health checks, service and worker.', gauges.serversUnhealthy),
    counter('name_lookups_failed_total', 'Of server names.', gauges.nameLookupsFailed),
  ]
}

function trafficMetrics({ counters }: MetricSource): string[] {
  const requests: Sample[] = []
  const bytesIn: Sample[] = []
  const bytesOut: Sample[] = []
  const seconds: Sample[] = []
  for (const total of counters.traffic()) {
    const labels = { router: total.router, service: total.service }
    STATUS_CLASSES.forEach((statusClass, at) => {
      const count = total.requests[at] ?? 0
      if (count > 0) requests.push([{ ...labels, class: statusClass }, count])
    })
    bytesIn.push([labels, total.bytesIn])
    bytesOut.push([labels, total.bytesOut])
    seconds.push([labels, total.durationUs / 1e6])
  }
  return [
    family('requests_total', 'counter', 'Requests by class of the status sent.', requests),
    family('received_bytes_total', 'counter', 'Bytes from clients.', bytesIn),
    family('sent_bytes_total', 'counter', 'Bytes to clients.', bytesOut),
    family('request_seconds_total', 'counter', 'Sum of the durations of requests.', seconds),
  ]
}

function counter(name: string, help: string, value: number): string {
  return family(name, 'counter', help, [[{}, value]])
}

function gauge(name: string, help: string, value: number): string {
  return family(name, 'gauge', help, [[{}, value]])
}

function family(
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  samples: readonly Sample[],
): string {
  const full = `sluice_node_${name}`
  const lines = samples.map(([labels, value]) => `${full}${labelsText(labels)} ${value}\n`)
  return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${lines.join('')}`
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
  return parts.length === 0 ? '' : `{${parts.join(',')}}`
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
