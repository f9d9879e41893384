import type { LogLine } from '../api/types.ts'
import { byteCount, clockTime, exactTime, milliseconds, text } from '../design/format.ts'

/** Lines of requests; the exact time is on hover. */
export function LogTable({ lines }: { readonly lines: readonly LogLine[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must get there.
    <section className="scroll" tabIndex={0} aria-label="Lines">
      <table className="lines">
        <thead>
          <tr>
            <th>Time</th>
            <th>Status</th>
            <th>Request</th>
            <th className="right">Took</th>
            <th className="right">Size</th>
            <th>Router</th>
            <th>Node</th>
            <th>Client</th>
            <th className="right">Stands for</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <Line key={line.id} line={line} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Line({ line }: { readonly line: LogLine }) {
  const { status, outcome } = line
  const hasFailed = status >= 500 || status === 0
  const tone = hasFailed ? 'bad' : status >= 400 ? 'warn' : 'good'
  return (
    <tr>
      <td>
        <time dateTime={line.time} title={exactTime(line.time)}>
          {clockTime(line.time)}
        </time>
      </td>
      <td>
        <span className={`state ${tone}`} title={outcome}>
          {status === 0 ? 'none' : status}
        </span>
      </td>
      <td className="path mono">
        {line.method} {line.host}
        {line.path}
        {hasFailed ? <div className="quiet">{outcome}</div> : null}
      </td>
      <td className="right">{text(milliseconds(line.durationMs))}</td>
      <td className="right">{text(byteCount(line.bytesOut))}</td>
      <td>{line.router === '' ? '–' : line.router}</td>
      <td>{line.node}</td>
      <td>{line.clientAddress}</td>
      <td className="right">{line.weight < 1.05 ? '1' : line.weight.toFixed(1)}</td>
    </tr>
  )
}
