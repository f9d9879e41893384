/** How many requests took how long, over time. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { ApiProblem, call } from '../api/client.ts'
import type { Heatmap } from '../api/types.ts'
import { milliseconds, text } from '../design/format.ts'
import { Card } from '../design/parts.tsx'
import type { Span } from './traffic.ts'

const gutter = 64

/** Nothing where the control plane keeps no heat maps. */
export function LatencyHeatMap({ node, span }: { readonly node: string; readonly span: Span }) {
  const heat = useQuery({
    queryKey: ['heatmap', node, span.name],
    queryFn: async () => {
      const toMs = Date.now()
      const query = new URLSearchParams({
        node,
        from: `${toMs - span.ms}`,
        to: `${toMs}`,
        step: span.step,
      })
      try {
        return await call<Heatmap>(`/analytics/heatmap?${query}`)
      } catch (error) {
        if (error instanceof ApiProblem && error.status === 404) return null
        throw error
      }
    },
  })
  if (heat.data === null || heat.data === undefined || heat.data.columns.length === 0) return null
  return (
    <Card title="Latency heat map">
      <HeatCanvas heat={heat.data} />
    </Card>
  )
}

function HeatCanvas({ heat }: { readonly heat: Heatmap }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    if (canvas.current !== null) draw(canvas.current, heat)
  }, [heat])
  const total = heat.columns.flatMap(({ counts }) => counts).reduce((sum, one) => sum + one, 0)
  return (
    <canvas className="heat" ref={canvas} role="img" aria-label={`Latency of ${total} requests`} />
  )
}

function draw(canvas: HTMLCanvasElement, { boundsMs, columns }: Heatmap): void {
  const context = canvas.getContext('2d')
  if (context === null) return
  const width = canvas.clientWidth
  const height = canvas.clientHeight
  canvas.width = width * devicePixelRatio
  canvas.height = height * devicePixelRatio
  context.scale(devicePixelRatio, devicePixelRatio)
  const style = getComputedStyle(canvas)
  const used = boundsMs.map((_, row) => columns.some(({ counts }) => (counts[row] ?? 0) > 0))
  const first = Math.max(0, used.indexOf(true) - 1)
  const rows = Math.max(1, used.lastIndexOf(true) + 2 - first)
  const most = Math.max(1, ...columns.flatMap(({ counts }) => counts))
  const across = (width - gutter) / columns.length
  const up = height / rows
  context.font = `11px ${style.fontFamily}`
  for (let row = 0; row < rows; row += 1) {
    const y = height - (row + 1) * up
    context.globalAlpha = 1
    context.fillStyle = style.getPropertyValue('--text-quiet')
    const bound = boundsMs[first + row]
    if (bound !== undefined && row % 2 === 0)
      context.fillText(text(milliseconds(bound)), 0, y + up - 2)
    context.fillStyle = style.getPropertyValue('--series-1')
    for (const [index, { counts }] of columns.entries()) {
      const share = (counts[first + row] ?? 0) / most
      if (share === 0) continue
      context.globalAlpha = 0.12 + 0.88 * Math.sqrt(share)
      context.fillRect(gutter + index * across, y, Math.max(1, across - 1), up - 1)
    }
  }
}
