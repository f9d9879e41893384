/**
 * Reads the YAML that `sluice apply` sends: flat documents that begin with `kind`, several in a file. What
 * is wrong is named by file, line, document and field, also when only the control plane can find it.
 */
import { type Document, isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from 'yaml'
import { isObject } from './admin-client.ts'
import {
  CommandFailure,
  exitCodes,
  messageOf,
  type ProblemDetail,
  problemText,
} from './failures.ts'
import { resourceKinds } from './kinds.ts'

/** One resource of a file. */
export interface ResourceDocument {
  readonly kind: string
  /** As the API names the object: settings exist once and have no name of their own. */
  readonly name: string
  readonly resource: Readonly<Record<string, unknown>>
  /** `shop.yaml:12` for a field like `servers[1].url`, or for the document when it has no such field. */
  locate(field: string): string
  /** Counted from 1 within the file. */
  readonly number: number
}

export function parseDocuments(file: string, text: string): ResourceDocument[] {
  const lines = new LineCounter()
  const parsed = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false })
  const documents = Array.isArray(parsed) ? parsed : []
  const problems: string[] = []
  const resources: ResourceDocument[] = []
  documents.forEach((document, index) => {
    const at = (offset: number) => `${file}:${lines.linePos(offset).line}: document ${index + 1}`
    if (document.errors.length > 0) {
      problems.push(...document.errors.map((error) => `${at(error.pos[0])}: ${error.message}`))
    } else if (document.contents !== null && !isNull(document)) {
      const read = readResource(document, index + 1, (offset) => lines.linePos(offset).line, file)
      if (typeof read === 'string') problems.push(`${at(startOf(document))}: ${read}`)
      else resources.push(read)
    }
  })
  if (problems.length > 0) throw new CommandFailure(exitCodes.usage, problems)
  return resources
}

/** All in one order; the same object twice would leave it to chance which description holds. */
export function refuseRepetitions(documents: readonly ResourceDocument[]): void {
  const seen = new Map<string, ResourceDocument>()
  const problems: string[] = []
  for (const document of documents) {
    const key = `${document.kind}/${document.name}`
    const first = seen.get(key)
    if (first === undefined) seen.set(key, document)
    else {
      const where = `${document.locate('name')}: document ${document.number}`
      problems.push(`${where}: name: ${key} is described at ${first.locate('name')} already`)
    }
  }
  if (problems.length > 0) throw new CommandFailure(exitCodes.usage, problems)
}

/** A problem of the control plane's, with the place in the files that it is about where there is one. */
export function locatedProblem(
  documents: readonly ResourceDocument[],
  problem: ProblemDetail,
): string {
  const document = documents.find(
    ({ kind, name }) => kind === problem.kind && name === problem.name,
  )
  if (document === undefined) return problemText(problem)
  return `${document.locate(problem.field)}: document ${document.number}: ${problemText(problem)}`
}

function readResource(
  document: Document,
  number: number,
  lineAt: (offset: number) => number,
  file: string,
): ResourceDocument | string {
  let value: unknown
  try {
    value = document.toJS()
  } catch (error) {
    return messageOf(error)
  }
  if (!isObject(value)) return 'it is not a mapping of fields'
  const { kind, name } = value
  if (kind === undefined) return `kind: is missing; one of ${resourceKinds.join(', ')}`
  if (typeof kind !== 'string' || !resourceKinds.includes(kind)) {
    return `kind: ${JSON.stringify(kind)} is not one of ${resourceKinds.join(', ')}`
  }
  if (kind !== 'settings' && typeof name !== 'string') {
    return `name: ${name === undefined ? 'is missing' : `${JSON.stringify(name)} is not text`}`
  }
  return {
    kind,
    name: typeof name === 'string' ? name : kind,
    resource: value,
    number,
    locate: (field) => `${file}:${lineAt(offsetOf(document, field))}`,
  }
}

/** Walks `servers[1].url` down the document as far as it goes. */
function offsetOf(document: Document, field: string): number {
  let node: unknown = document.contents
  let offset = startOf(document)
  for (const step of field.split(/[.[\]/]+/).filter((part) => part !== '')) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === step)
      if (pair === undefined || !isScalar(pair.key)) return offset
      offset = pair.key.range?.[0] ?? offset
      node = pair.value
    } else if (isSeq(node)) {
      node = node.items[Number(step)]
      offset = rangeStart(node) ?? offset
    } else {
      return offset
    }
  }
  return offset
}

function startOf(document: Document): number {
  return rangeStart(document.contents) ?? document.range?.[0] ?? 0
}

function rangeStart(node: unknown): number | undefined {
  return isMap(node) || isSeq(node) || isScalar(node) ? node.range?.[0] : undefined
}

/** A document of nothing but comments, like what stands before a first `---`. */
function isNull({ contents }: Document): boolean {
  return isScalar(contents) && contents.value === null
}
