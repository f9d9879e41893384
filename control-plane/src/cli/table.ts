/** Text tables for people and pipes: columns padded with spaces, two between them, no lines around. */

export type Cell = string | number | boolean | null | undefined

/** Without rows only the heading is printed, so that a pipe always finds the same first line. */
export function table(heading: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const lines = [heading, ...rows.map((row) => row.map(cellText))]
  const widths = heading.map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? '').length)),
  )
  return lines.map((line) => padded(line, widths)).join('\n')
}

function padded(line: readonly string[], widths: readonly number[]): string {
  return line
    .map((text, column) => text.padEnd(widths[column] ?? 0))
    .join('  ')
    .trimEnd()
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined || cell === '') return '-'
  return printable(String(cell))
}

/** Paths and user agents come from strangers: no control character of theirs may reach the terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0
    return `\\u${code.toString(16).padStart(4, '0')}`
  })
}
