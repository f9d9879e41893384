/**
 * Which fields of a message go on and which end here: hop-by-hop fields (RFC 9110 section 7.6.1), what this
 * proxy writes itself, and what the Connection field nominates. Hot.
 */
import { Field } from './field-names.ts'
import type { HeadParser } from './head-parser.ts'

function fieldSet(...ids: number[]): Uint8Array {
  const set = new Uint8Array(64)
  for (const id of ids) set[id] = 1
  return set
}

const HOP_BY_HOP = [
  Field.CONNECTION,
  Field.KEEP_ALIVE,
  Field.PROXY_CONNECTION,
  Field.TE,
  Field.TRAILER,
  Field.TRANSFER_ENCODING,
  Field.UPGRADE,
  Field.HTTP2_SETTINGS,
  Field.PROXY_AUTHENTICATE,
  Field.PROXY_AUTHORIZATION,
]
const FORWARDING = [
  Field.X_FORWARDED_FOR,
  Field.X_FORWARDED_PROTO,
  Field.X_FORWARDED_HOST,
  Field.X_FORWARDED_PORT,
  Field.X_FORWARDED_PREFIX,
  Field.X_FORWARDED_SERVER,
  Field.FORWARDED,
  Field.X_REAL_IP,
]

/** Not copied from a request: these end here or are written anew. */
export const ENDING_IN_REQUESTS = fieldSet(
  ...HOP_BY_HOP,
  ...FORWARDING,
  Field.HOST,
  Field.CONTENT_LENGTH,
)

/** The same for a request of a trusted peer, whose word on the client counts. */
export const ENDING_IN_TRUSTED_REQUESTS = fieldSet(
  ...HOP_BY_HOP,
  Field.X_FORWARDED_FOR,
  Field.FORWARDED,
  Field.HOST,
  Field.CONTENT_LENGTH,
)

export const ENDING_IN_ANSWERS = fieldSet(...HOP_BY_HOP, Field.CONTENT_LENGTH)

/** Fields that a Connection field cannot take away: the message or its security depends on them. */
const NEVER_NOMINATED = new Set([
  'authorization',
  'cookie',
  'set-cookie',
  'expect',
  'date',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-prefix',
  'x-forwarded-server',
  'x-real-ip',
])

/**
 * The field lines to copy, as one string. `text` holds the head; `base` is the offset that the parser's
 * offsets have in it.
 */
export function keptFields(
  head: HeadParser,
  text: string,
  base: number,
  ending: Uint8Array,
): string {
  const nominated = head.nominated
  if (head.hasLooseNames) return keptFieldsAnew(head, text, base, ending)
  let kept = ''
  let runStart = -1
  for (let index = 0; index < head.fieldCount; index += 1) {
    const nameStart = head.nameStarts[index] ?? 0
    const isEnding =
      ending[head.fieldIds[index] ?? 0] === 1 ||
      (nominated !== null && isNominated(nominated, head, text, base, index))
    if (isEnding && runStart >= 0) {
      kept += text.slice(runStart, nameStart - base)
      runStart = -1
    } else if (!isEnding && runStart < 0) {
      runStart = nameStart - base
    }
  }
  return runStart < 0 ? kept : kept + text.slice(runStart, head.fieldsEnd - base)
}

/** The same, each line written anew. */
function keptFieldsAnew(head: HeadParser, text: string, base: number, ending: Uint8Array): string {
  let kept = ''
  for (let index = 0; index < head.fieldCount; index += 1) {
    if (ending[head.fieldIds[index] ?? 0] === 1) continue
    if (head.nominated !== null && isNominated(head.nominated, head, text, base, index)) continue
    const name = text.slice(
      (head.nameStarts[index] ?? 0) - base,
      (head.nameEnds[index] ?? 0) - base,
    )
    kept += `${name}: ${fieldValue(head, text, base, index)}\r\n`
  }
  return kept
}

function isNominated(
  nominated: readonly string[],
  head: HeadParser,
  text: string,
  base: number,
  index: number,
): boolean {
  const name = text
    .slice((head.nameStarts[index] ?? 0) - base, (head.nameEnds[index] ?? 0) - base)
    .toLowerCase()
  return nominated.includes(name) && !NEVER_NOMINATED.has(name)
}

/** The trimmed value of a field; '' when the index is absent. */
export function fieldValue(head: HeadParser, text: string, base: number, index: number): string {
  if (index < 0) return ''
  return text.slice((head.valueStarts[index] ?? 0) - base, (head.valueEnds[index] ?? 0) - base)
}
