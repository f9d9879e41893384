/** Keeps what is shown current: the control plane tells what changed, and only that is asked for again. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'

const asksAgain = {
  version: ['status', 'versions', 'resources', 'nodes'],
  nodes: ['nodes', 'status'],
  traffic: ['traffic', 'heatmap', 'top'],
} as const

/** Whether the control plane can be heard. */
export function useLiveEvents(): boolean {
  const queries = useQueryClient()
  const [isLive, setIsLive] = useState(true)
  useEffect(() => {
    const events = new EventSource('/api/v1/events')
    for (const [name, keys] of Object.entries(asksAgain)) {
      events.addEventListener(name, () => {
        for (const key of keys) void queries.invalidateQueries({ queryKey: [key] })
      })
    }
    events.addEventListener('open', () => {
      setIsLive(true)
      // What happened while nothing could be heard.
      void queries.invalidateQueries()
    })
    events.addEventListener('error', () => setIsLive(false))
    return () => events.close()
  }, [queries])
  return isLive
}
