/** One node: how it does, what it runs, and what it refused. */
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import { call } from '../api/client.ts'
import type { NodeView } from '../api/types.ts'
import { ForRole, useWrite } from '../app/session.tsx'
import type { Mark } from '../charts/chart.tsx'
import { FlowCharts, SpanPicker } from '../charts/flow-charts.tsx'
import { LatencyHeatMap } from '../charts/heat-map.tsx'
import { flowOf, SPANS, type Span, useFlow } from '../charts/traffic.ts'
import { duration, milliseconds, text } from '../design/format.ts'
import { Card, Failure, Labels, PageFrame, State, Time } from '../design/parts.tsx'

const noMarks: readonly Mark[] = []

export function NodePage({ name }: { readonly name: string }) {
  const [span, setSpan] = useState<Span>(SPANS[1])
  const node = useQuery({
    queryKey: ['nodes', name],
    queryFn: () => call<NodeView>(`/nodes/${encodeURIComponent(name)}`),
  })
  const traffic = useFlow(span, name)
  const flow = useMemo(
    () => (traffic.data === undefined ? undefined : flowOf(traffic.data)),
    [traffic.data],
  )
  return (
    <PageFrame title={name} actions={<SpanPicker span={span} onPick={setSpan} />}>
      <Failure error={node.error} />
      {node.data === undefined ? null : (
        <>
          <Refused node={node.data} />
          <div className="halves">
            <Facts node={node.data} />
            <Actions node={node.data} />
          </div>
        </>
      )}
      {flow === undefined ? null : <FlowCharts flow={flow} marks={noMarks} />}
      <LatencyHeatMap node={name} span={span} />
    </PageFrame>
  )
}

function Refused({ node }: { readonly node: NodeView }) {
  const { rejected, missingFeatures, version } = node
  if (rejected === null && missingFeatures.length === 0) return null
  return (
    <div className="note bad" role="status">
      {rejected === null ? null : (
        <>
          This node refused{' '}
          <Link href={`/versions/${rejected.version}`}>version {rejected.version}</Link>{' '}
          <Time at={rejected.at} /> and serves version {version}.
          <ul>
            {rejected.problems.map(({ kind, name, field, reason }) => (
              <li key={`${kind}/${name}/${field}`}>
                {kind}/{name} <code>{field}</code>: {reason}
              </li>
            ))}
          </ul>
        </>
      )}
      {missingFeatures.map(({ feature }) => (
        <div key={feature}>Its software lacks the feature {feature}.</div>
      ))}
    </div>
  )
}

function Facts({ node }: { readonly node: NodeView }) {
  return (
    <Card title="State">
      <dl>
        <dt>State</dt>
        <dd>
          <State state={node.state} />
        </dd>
        <dt>Version</dt>
        <dd>
          {node.version} of {node.desiredVersion}, applied <Time at={node.appliedAt} />
          {node.tookMs === null ? '' : ` in ${text(milliseconds(node.tookMs))}`}
        </dd>
        <dt>Last seen</dt>
        <dd>
          <Time at={node.lastSeenAt} />
        </dd>
        <dt>Up for</dt>
        <dd>{node.uptimeSeconds === null ? '–' : duration(node.uptimeSeconds)}</dd>
        <dt>Clock is off by</dt>
        <dd>{node.clockOffsetMs === null ? '–' : `${node.clockOffsetMs} ms`}</dd>
        <dt>Address</dt>
        <dd>{node.address}</dd>
        <dt>Software</dt>
        <dd>
          {node.softwareVersion}, {node.workers} workers
        </dd>
        <dt>Certificate ends</dt>
        <dd>
          <Time at={node.certificateExpiresAt} />
          {node.isCertificateExpired && ', so it has to join again with a new token'}
        </dd>
        <dt>Labels</dt>
        <dd>
          <Labels of={node.labels} />
        </dd>
      </dl>
    </Card>
  )
}

function Actions({ node }: { readonly node: NodeView }) {
  const path = `/nodes/${encodeURIComponent(node.name)}`
  const act = useWrite((action: string, csrfToken) =>
    call(`${path}/${action}`, { method: 'POST', csrfToken }),
  )
  const [confirming, setConfirming] = useState(false)
  const drain = node.isDraining ? 'undrain' : 'drain'
  return (
    <Card title="Steer">
      <p className="quiet">
        {node.isDraining
          ? 'The node takes no new connections; what is open ends by itself.'
          : 'A drained node takes no new connections and tells its load balancer so.'}
      </p>
      {node.load === null ? null : (
        <p>
          Still open: {node.load.connections ?? 0} connections, {node.load.requests ?? 0} requests.
        </p>
      )}
      <div className="row">
        <ForRole least="editor">
          <button type="button" disabled={act.isPending} onClick={() => act.mutate(drain)}>
            {node.isDraining ? 'End draining' : 'Drain'}
          </button>
        </ForRole>
        <ForRole least="admin">
          <button type="button" className="danger" onClick={() => setConfirming(true)}>
            Revoke …
          </button>
        </ForRole>
        <Link className="button" href={`/logs?node=${encodeURIComponent(node.name)}`}>
          Logs
        </Link>
      </div>
      {confirming ? (
        <div className="note warn">
          <p>A revoked node is cut off for good and has to join again under another name.</p>
          <div className="row">
            <button type="button" className="danger" onClick={() => act.mutate('revoke')}>
              Revoke {node.name}
            </button>
            <button type="button" onClick={() => setConfirming(false)}>
              Cancel
            </button>
          </div>
        </div>
      ) : null}
      <Failure error={act.error} />
    </Card>
  )
}
