/** The four charts that say how traffic flows. */

import { byteRate, milliseconds, percent, requestRate, text } from '../design/format.ts'
import { Card } from '../design/parts.tsx'
import { Chart, type Mark } from './chart.tsx'
import { type Flow, SPANS, type Span } from './traffic.ts'

export function FlowCharts({
  flow,
  marks,
}: {
  readonly flow: Flow
  readonly marks: readonly Mark[]
}) {
  const shared = { timesMs: flow.timesMs, marks }
  return (
    <div className="halves">
      <Card title="Requests">
        <Chart
          {...shared}
          label="Requests per second"
          format={(value) => text(requestRate(value))}
          series={[{ name: 'all', color: 'series-1', values: flow.requestsPerSecond }]}
        />
      </Card>
      <Card title="Errors">
        <Chart
          {...shared}
          label="Share of requests that failed"
          format={(value) => text(percent(value))}
          series={[{ name: '5xx and no answer', color: 'bad', values: flow.errorShare }]}
        />
      </Card>
      <Card title="Latency">
        <Chart
          {...shared}
          label="Latency percentiles"
          format={(value) => text(milliseconds(value))}
          series={[
            { name: 'p50', color: 'series-1', values: flow.p50Ms },
            { name: 'p99', color: 'series-2', values: flow.p99Ms },
          ]}
        />
      </Card>
      <Card title="Bandwidth">
        <Chart
          {...shared}
          label="Bytes per second"
          format={(value) => text(byteRate(value))}
          series={[
            { name: 'from clients', color: 'series-3', values: flow.inPerSecond },
            { name: 'to clients', color: 'series-4', values: flow.outPerSecond },
          ]}
        />
      </Card>
    </div>
  )
}

export function SpanPicker(props: { readonly span: Span; readonly onPick: (span: Span) => void }) {
  const pick = (name: string) => props.onPick(SPANS.find((span) => span.name === name) ?? SPANS[1])
  return (
    <select
      aria-label="Time span"
      value={props.span.name}
      onChange={(event) => pick(event.target.value)}
    >
      {SPANS.map(({ name }) => (
        <option key={name} value={name}>
          Last {name}
        </option>
      ))}
    </select>
  )
}
