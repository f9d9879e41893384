/** Lines as they come. At most so many are kept; the oldest go. */
import { useEffect, useRef, useState } from 'react'
import type { LogLine } from '../api/types.ts'
import { type LogFilter, queryOf } from './log-filter.ts'

const linesMax = 1_000

export interface Tail {
  /** Newest first. */
  readonly lines: readonly LogLine[]
  readonly isPaused: boolean
  /** What came while the tail was paused. */
  readonly waiting: number
  readonly dropped: number
  readonly failure: string | undefined
  readonly setPaused: (isPaused: boolean) => void
}

export function useTail(filter: LogFilter, isOn: boolean): Tail {
  const [lines, setLines] = useState<readonly LogLine[]>([])
  const [isPaused, setIsPaused] = useState(false)
  const [waiting, setWaiting] = useState(0)
  const [dropped, setDropped] = useState(0)
  const [failure, setFailure] = useState<string>()
  const held = useRef<LogLine[]>([])
  const paused = useRef(false)
  const query = queryOf(filter)
  useEffect(() => {
    setLines([])
    setFailure(undefined)
    if (!isOn) return undefined
    const source = new EventSource(`/api/v1/logs/follow?${query}`)
    source.addEventListener('open', () => setFailure(undefined))
    source.addEventListener('error', () => setFailure('the control plane sends no lines just now'))
    source.addEventListener('lines', ({ data }) => {
      const came = (JSON.parse(data) as LogLine[]).toReversed()
      if (!paused.current) return setLines((before) => [...came, ...before].slice(0, linesMax))
      held.current = [...came, ...held.current].slice(0, linesMax)
      setWaiting(held.current.length)
    })
    source.addEventListener('dropped', ({ data }) => {
      const { lines: count } = JSON.parse(data) as { lines: number }
      setDropped((before) => before + count)
    })
    return () => source.close()
  }, [query, isOn])
  const setPaused = (next: boolean) => {
    paused.current = next
    setIsPaused(next)
    if (next) return
    const came = held.current
    held.current = []
    setWaiting(0)
    setLines((before) => [...came, ...before].slice(0, linesMax))
  }
  return { lines, isPaused, waiting, dropped, failure, setPaused }
}
