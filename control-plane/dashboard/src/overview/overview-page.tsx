/** How the fleet is doing, at a glance. */
import { useQuery } from '@tanstack/react-query'
import { memo, useMemo, useState } from 'react'
import { Link } from 'wouter'
import { call } from '../api/client.ts'
import type { NodeView, Page, VersionSummary } from '../api/types.ts'
import { ForRole } from '../app/session.tsx'
import { Chart, type Mark } from '../charts/chart.tsx'
import { FlowCharts, SpanPicker } from '../charts/flow-charts.tsx'
import {
  type Flow,
  flowOf,
  type NodeRequests,
  requestsByNode,
  SPANS,
  type Span,
  useFlow,
  useRequestsByNode,
} from '../charts/traffic.ts'
import { byteRate, milliseconds, percent, requestRate, text } from '../design/format.ts'
import { Card, Empty, Failure, Figure, PageFrame, stateTones, Time } from '../design/parts.tsx'
import { useNodes } from '../nodes/use-nodes.ts'

const multiplesMax = 60
const changesShown = 6
const noVersions: readonly VersionSummary[] = []

export function OverviewPage() {
  const [span, setSpan] = useState<Span>(SPANS[1])
  const traffic = useFlow(span)
  const byNode = useRequestsByNode(span)
  const nodes = useNodes()
  const versions = useVersions()
  const flow = useMemo(
    () => (traffic.data === undefined ? undefined : flowOf(traffic.data)),
    [traffic.data],
  )
  const requests = useMemo(
    () => (byNode.data === undefined ? undefined : requestsByNode(byNode.data)),
    [byNode.data],
  )
  const marks = useMemo(
    () =>
      versions.map(({ number, createdAt }) => ({
        timeMs: Date.parse(createdAt),
        name: `version ${number}`,
      })),
    [versions],
  )
  if (nodes.data?.items.length === 0) return <FirstSteps />
  return (
    <PageFrame title="Overview" actions={<SpanPicker span={span} onPick={setSpan} />}>
      <Failure error={traffic.error ?? byNode.error ?? nodes.error} />
      {flow === undefined ? null : <Figures flow={flow} />}
      <Card title="Fleet">
        <FleetStrip nodes={nodes.data?.items ?? []} />
      </Card>
      {flow === undefined ? null : <FlowCharts flow={flow} marks={marks} />}
      {requests === undefined ? null : <Multiples {...requests} marks={marks} />}
      <LatestChanges versions={versions} />
    </PageFrame>
  )
}

function useVersions(): readonly VersionSummary[] {
  const versions = useQuery({
    queryKey: ['versions', 'latest'],
    queryFn: () => call<Page<VersionSummary>>('/versions?limit=50'),
  })
  return versions.data?.items ?? noVersions
}

function FirstSteps() {
  return (
    <PageFrame title="Overview">
      <div className="card">
        <Empty title="No node has joined yet">
          Traffic shows here as soon as a node serves it.
          <div className="row">
            <ForRole least="admin">
              <Link className="button main" href="/nodes/add">
                Add a node
              </Link>
            </ForRole>
            <ForRole least="editor">
              <Link className="button" href="/services/new">
                Add a service
              </Link>
            </ForRole>
          </div>
        </Empty>
      </div>
    </PageFrame>
  )
}

/** Of the last whole step, since the newest one has only begun. */
function Figures({ flow }: { readonly flow: Flow }) {
  const at = Math.max(0, flow.timesMs.length - 2)
  const last = (values: readonly number[]) => values[at] ?? 0
  const time = (values: readonly (number | null)[]) => {
    const value = values[at] ?? null
    return value === null ? { value: '–', unit: 'ms' } : milliseconds(value)
  }
  return (
    <section className="figures" aria-label="Now">
      <Figure name="Requests" quantity={requestRate(last(flow.requestsPerSecond))} />
      <Figure name="Errors" quantity={percent(flow.errorShare[at] ?? 0)} />
      <Figure name="p50" quantity={time(flow.p50Ms)} />
      <Figure name="p99" quantity={time(flow.p99Ms)} />
      <Figure name="To clients" quantity={byteRate(last(flow.outPerSecond))} />
      <Figure name="From clients" quantity={byteRate(last(flow.inPerSecond))} />
    </section>
  )
}

function FleetStrip({ nodes }: { readonly nodes: readonly NodeView[] }) {
  return (
    <div className="strip">
      {nodes.map(({ id, name, state, version }) => (
        <Link key={id} className={stateTones[state]} href={`/nodes/${encodeURIComponent(name)}`}>
          <b>{name}</b>
          <span className="quiet">
            {state} · v{version}
          </span>
        </Link>
      ))}
    </div>
  )
}

function Multiples(props: {
  readonly timesMs: readonly number[]
  readonly nodes: readonly NodeRequests[]
  readonly marks: readonly Mark[]
}) {
  const { timesMs, nodes, marks } = props
  const shown = nodes.slice(0, multiplesMax)
  const hidden = nodes.length - shown.length
  return (
    <section>
      <h2>Requests by node</h2>
      <div className="grid">
        {shown.map((requests) => (
          <NodeChart key={requests.node} timesMs={timesMs} requests={requests} marks={marks} />
        ))}
      </div>
      {hidden > 0 ? (
        <p className="quiet">{hidden} more nodes have charts on their own pages.</p>
      ) : null}
      {shown.length === 0 ? <p className="quiet">No request came in this time.</p> : null}
    </section>
  )
}

const NodeChart = memo(function NodeChart(props: {
  readonly timesMs: readonly number[]
  readonly requests: NodeRequests
  readonly marks: readonly Mark[]
}) {
  const { timesMs, requests, marks } = props
  const { node, requestsPerSecond } = requests
  return (
    <Card title={node}>
      <Chart
        label={`Requests per second of ${node}`}
        timesMs={timesMs}
        height={110}
        marks={marks}
        format={(value) => text(requestRate(value))}
        series={[{ name: 'all', color: 'series-1', values: requestsPerSecond }]}
      />
    </Card>
  )
})

function LatestChanges({ versions }: { readonly versions: readonly VersionSummary[] }) {
  return (
    <Card title="Latest changes">
      {versions.length === 0 ? <p className="quiet">Nothing was published yet.</p> : null}
      <div className="scroll">
        <table>
          <tbody>
            {versions.slice(0, changesShown).map(({ number, message, author, createdAt }) => (
              <tr key={number}>
                <td>
                  <Link href={`/versions/${number}`}>version {number}</Link>
                </td>
                <td>{message}</td>
                <td className="quiet">{author}</td>
                <td className="right">
                  <Time at={createdAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  )
}
