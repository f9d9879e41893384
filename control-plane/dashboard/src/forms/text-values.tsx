/** Lists and maps as lines of text. What is typed stays as it is; what it means is handed on. */
import { useState } from 'react'

interface TextProps {
  readonly described: object
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}

export function ListText({ described, value, onChange }: TextProps) {
  const [text, setText] = useState(() => ((value ?? []) as readonly string[]).join('\n'))
  const change = (next: string) => {
    setText(next)
    onChange(linesOf(next))
  }
  return (
    <textarea
      {...described}
      rows={2}
      style={{ minHeight: 54 }}
      placeholder="one on each line"
      value={text}
      onChange={(event) => change(event.target.value)}
    />
  )
}

export function PairsText({ described, value, onChange }: TextProps) {
  const [text, setText] = useState(() =>
    Object.entries((value ?? {}) as Record<string, string>)
      .map((pair) => pair.join('='))
      .join('\n'),
  )
  const change = (next: string) => {
    setText(next)
    onChange(Object.fromEntries(linesOf(next).map(pairOf)))
  }
  return (
    <textarea
      {...described}
      rows={2}
      style={{ minHeight: 54 }}
      placeholder="key=value, one on each line"
      value={text}
      onChange={(event) => change(event.target.value)}
    />
  )
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

function pairOf(line: string): [string, string] {
  const at = line.indexOf('=')
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)]
}
