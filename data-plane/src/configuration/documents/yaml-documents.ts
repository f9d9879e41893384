/** The YAML of a static file: flat documents that begin with `kind`, each with a way back to its lines. */
import { type Document, isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from 'yaml'

export interface YamlDocument {
  /** Counted from 1 within the file. */
  readonly number: number
  readonly value: unknown
  /** Line of a field like `servers[1].url`, as far as the document has it. */
  lineOf(field: string): number
}

export interface YamlProblem {
  readonly line: number
  readonly number: number
  readonly reason: string
}

export interface YamlReading {
  readonly documents: readonly YamlDocument[]
  readonly problems: readonly YamlProblem[]
}

/** Documents without content are left out, like a comment before the first `---`. */
export function readYaml(text: string): YamlReading {
  const lines = new LineCounter()
  const lineAt = (offset: number) => lines.linePos(offset).line
  // Without pretty errors: those quote the file, which may hold keys.
  const parsed = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false })
  const documents: YamlDocument[] = []
  const problems: YamlProblem[] = []
  for (const [index, document] of (Array.isArray(parsed) ? parsed : []).entries()) {
    const number = index + 1
    if (document.errors.length > 0) {
      for (const { pos, message } of document.errors) {
        problems.push({ line: lineAt(pos[0]), number, reason: message })
      }
      continue
    }
    if (isEmpty(document)) continue
    const lineOf = (field: string) => lineAt(offsetOf(document, field))
    try {
      documents.push({ number, value: document.toJS(), lineOf })
    } catch (error) {
      // An alias that stands for nothing, or for too much.
      const reason = error instanceof Error ? error.message : String(error)
      problems.push({ line: lineOf(''), number, reason })
    }
  }
  return { documents, problems }
}

function isEmpty({ contents }: Document): boolean {
  return contents === null || (isScalar(contents) && contents.value === null)
}

function offsetOf(document: Document, field: string): number {
  let node: unknown = document.contents
  let offset = startOf(node) ?? document.range?.[0] ?? 0
  for (const step of field.split(/[.[\]]+/).filter((part) => part !== '')) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === step)
      if (pair === undefined) return offset
      offset = startOf(pair.key) ?? offset
      node = pair.value
    } else if (isSeq(node)) {
      node = node.items[Number(step)]
      offset = startOf(node) ?? offset
    } else {
      return offset
    }
  }
  return offset
}

function startOf(node: unknown): number | undefined {
  return isMap(node) || isSeq(node) || isScalar(node) ? node.range?.[0] : undefined
}
