/**
 * Fills a configuration's template. `{{name}}` is a value. On lines of their own, `{{each name}}` … `{{end}}`
 * repeats for each of a list, whose value is `{{name}}` inside and its index `{{index}}`; `{{if name}}` …
 * `{{else}}` … `{{end}}` keeps one of two parts: a value that is absent or empty is false. A mark may follow a `#`.
 */

export type TemplateValues = Readonly<Record<string, string | readonly string[] | undefined>>

type Part =
  | { readonly kind: 'line'; readonly text: string; readonly number: number }
  | { readonly kind: 'each'; readonly name: string; readonly parts: readonly Part[] }
  | {
      readonly kind: 'if'
      readonly name: string
      readonly parts: readonly Part[]
      readonly otherwise: readonly Part[]
    }

interface Reader {
  readonly lines: readonly string[]
  at: number
}

const MARK = /^\s*(?:#\s*)?\{\{(each|if|else|end)(?: (\w+))?\}\}\s*$/
const VALUE = /\{\{(\w+)\}\}/g

export function fillTemplate(text: string, values: TemplateValues): string {
  const reader = { lines: text.split('\n'), at: 0 }
  const { parts, end } = readParts(reader)
  if (end !== undefined) throw new Error(`line ${reader.at}: ${end} without a beginning`)
  return render(parts, values).join('\n')
}

/** The lines that are there only if the value is: what a template sets beyond a program's own defaults. */
export function linesUnder(text: string, name: string): string[] {
  return linesOf(readParts({ lines: text.split('\n'), at: 0 }).parts, name, false)
}

function linesOf(parts: readonly Part[], name: string, isUnder: boolean): string[] {
  return parts.flatMap((part) => {
    if (part.kind !== 'line') {
      return linesOf(part.parts, name, isUnder || (part.kind === 'if' && part.name === name))
    }
    const line = part.text.trim()
    return isUnder && line !== '' && !line.startsWith('#') ? [line] : []
  })
}

/** Up to the mark that ends the block, or the end of the text. */
function readParts(reader: Reader): { parts: Part[]; end: 'else' | 'end' | undefined } {
  const parts: Part[] = []
  while (reader.at < reader.lines.length) {
    const text = reader.lines[reader.at] ?? ''
    reader.at += 1
    const [, kind, name = ''] = MARK.exec(text) ?? []
    if (kind === 'else' || kind === 'end') return { parts, end: kind }
    if (kind === 'each') parts.push({ kind, name, parts: readBlock(reader).parts })
    else if (kind === 'if') parts.push({ kind, name, ...readBlock(reader) })
    else parts.push({ kind: 'line', text, number: reader.at })
  }
  return { parts, end: undefined }
}

function readBlock(reader: Reader): { parts: Part[]; otherwise: Part[] } {
  const from = reader.at
  const first = readParts(reader)
  const second = first.end === 'else' ? readParts(reader) : { parts: [], end: first.end }
  if (second.end !== 'end') throw new Error(`line ${from}: the block has no end`)
  return { parts: first.parts, otherwise: second.parts }
}

function render(parts: readonly Part[], values: TemplateValues): string[] {
  return parts.flatMap((part) => renderPart(part, values))
}

function renderPart(part: Part, values: TemplateValues): string[] {
  switch (part.kind) {
    case 'line':
      return [fillLine(part.text, values, part.number)]
    case 'each':
      return renderEach(part.name, part.parts, values)
    case 'if': {
      const isTrue = (values[part.name] ?? '').length > 0
      return render(isTrue ? part.parts : part.otherwise, values)
    }
    default:
      return part satisfies never
  }
}

function renderEach(name: string, parts: readonly Part[], values: TemplateValues): string[] {
  const list = values[name]
  if (!Array.isArray(list)) throw new Error(`${name} is no list`)
  return list.flatMap((value: string, index) =>
    render(parts, { ...values, [name]: value, index: String(index) }),
  )
}

function fillLine(line: string, values: TemplateValues, number: number): string {
  return line.replace(VALUE, (_all, name: string) => {
    const value = values[name]
    if (typeof value !== 'string') throw new Error(`line ${number}: no value for ${name}`)
    return value
  })
}
