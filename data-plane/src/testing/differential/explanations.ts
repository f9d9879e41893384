/** Where this proxy and node:http may read a head differently, and why. Any other disagreement is a fault. */
import type { Reading } from './readings.ts'

export interface Explanation {
  readonly category: string
  readonly reason: string
  readonly section: string
  /** Of a head as text, with both readings of it. */
  readonly covers: (text: string, ours: Reading, theirs: Reading) => boolean
}

/** For heads that only Node accepts. */
const stricter =
  (covers: (target: string, fields: readonly string[], text: string) => boolean, status = '400') =>
  (text: string, ours: Reading, theirs: Reading): boolean =>
    ours.kind === 'refused' &&
    ours.reason === status &&
    theirs.kind === 'accepted' &&
    covers(theirs.target, theirs.fields, text)

const valuesOf = (fields: readonly string[], name: string) =>
  fields
    .filter((field) => field.startsWith(`${name}: `))
    .map((field) => field.slice(name.length + 2))

/** Ports are checked apart. */
const AUTHORITY = /^(?:[\w.-]*[\w-][\w.-]*|\[[0-9a-fA-F:.]{2,}\])(?::(?:0*[1-9]\d{0,4})?)?$/
const isAuthority = (text: string) =>
  text.length <= 255 && AUTHORITY.test(text) && Number(/:(\d+)$/.exec(text)?.[1] ?? 1) < 65_536
const pathOf = (target: string) => target.replace(/^https?:\/\/[^/?]*/i, '').replace(/\?.*/s, '')

export const EXPLANATIONS: readonly Explanation[] = [
  {
    category: 'host',
    reason: 'Node checks neither the syntax of Host nor, when they are equal or not, a second one',
    section: 'RFC 9112 section 3.2',
    covers: stricter((_target, fields) => {
      const hosts = valuesOf(fields, 'host')
      return hosts.length > 1 || hosts.some((host) => !isAuthority(host))
    }),
  },
  {
    category: 'target form',
    reason: 'Node passes on targets that are neither a path, an http URL, nor * of OPTIONS',
    section: 'RFC 9112 section 3.2',
    covers: stricter((target, _fields, text) => {
      if (target.startsWith('/')) return false
      if (target === '*') return !/^(?:\r\n)?OPTIONS /.test(text)
      const authority = /^https?:\/\/([^/?]*)/i.exec(target)?.[1]
      return authority === undefined || !isAuthority(authority)
    }),
  },
  {
    category: 'fragment',
    reason: 'a fragment is never sent, and where it stands matching and forwarding could differ',
    section: 'RFC 9112 section 3.2',
    covers: stricter((target) => target.includes('#')),
  },
  {
    category: 'escape',
    reason: 'Node does not look into targets; a malformed escape has no single reading',
    section: 'RFC 3986 section 2.1',
    covers: stricter((target) => /%(?![0-9a-fA-F]{2})/.test(target) || /%00/.test(pathOf(target))),
  },
  {
    category: 'dot segments',
    reason: 'a path that climbs above the root, or hides .. from one of two readers, is refused',
    section: 'RFC 3986 section 5.2.4',
    covers: stricter((target) => /(?:\.|%2e){2}/i.test(pathOf(target))),
  },
  {
    category: 'CONNECT',
    reason: 'a reverse proxy opens no tunnels',
    section: 'RFC 9110 section 9.3.6',
    covers: stricter((_target, _fields, text) => /^(?:[\r\n]*)CONNECT /.test(text), '501'),
  },
  {
    category: 'transfer codings',
    reason: 'this proxy undoes no coding but chunked; Node leaves the others to the application',
    section: 'RFC 9112 section 6.1',
    covers: (text, ours, theirs) => {
      const hasOthers = (_target: string, fields: readonly string[]) =>
        valuesOf(fields, 'transfer-encoding').some((value) => value.toLowerCase() !== 'chunked')
      return (
        stricter(hasOthers)(text, ours, theirs) || stricter(hasOthers, '501')(text, ours, theirs)
      )
    },
  },
  {
    category: 'two Transfer-Encoding lines',
    reason: 'they are one list, in which chunked stands twice or not last',
    section: 'RFC 9112 section 6.1',
    covers: stricter((_target, fields) => valuesOf(fields, 'transfer-encoding').length > 1),
  },
  {
    category: 'chunked in HTTP/1.0',
    reason: 'its framing is faulty, and the sender may not know chunks',
    section: 'RFC 9112 section 6.1',
    covers: (text, ours, theirs) =>
      theirs.kind === 'accepted' &&
      theirs.version === '1.0' &&
      stricter((_target, fields) => valuesOf(fields, 'transfer-encoding').length > 0)(
        text,
        ours,
        theirs,
      ),
  },
  {
    category: 'empty lines',
    reason: 'one empty line before a request is skipped; Node skips any number, and bare CR or LF',
    section: 'RFC 9112 section 2.2',
    covers: (text, ours, theirs) =>
      ours.kind === 'refused' &&
      theirs.kind !== 'refused' &&
      /^(?:\r\n[\r\n]|\n|\r[^\n])/.test(text),
  },
  {
    category: 'white space',
    reason: 'Node skips any number of spaces before the target and before the version',
    section: 'RFC 9112 section 3',
    covers: stricter((_target, _fields, text) => /^[\r\n]*[A-Z-]+ (?: |[^ \r\n]+ {2})/.test(text)),
  },
  {
    category: 'version',
    reason: 'Node takes HTTP/0.9 and HTTP/2.0 as words in a request line',
    section: 'RFC 9112 section 2.3',
    covers: (_text, ours, theirs) =>
      ours.kind === 'refused' &&
      theirs.kind === 'accepted' &&
      (theirs.version === '0.9' || theirs.version === '2.0'),
  },
  {
    category: 'length',
    reason: 'lengths of more than 15 digits are refused, so that all are exact',
    section: 'RFC 9110 section 8.6',
    covers: stricter((_target, fields) =>
      valuesOf(fields, 'content-length').some((value) => value.length > 15),
    ),
  },
  {
    category: 'limits',
    reason: 'this proxy has limits of its own for the request line, the head and the fields',
    section: 'RFC 9112 section 3, RFC 6585 section 5',
    covers: (_text, ours) =>
      ours.kind === 'refused' && (ours.reason === '414' || ours.reason === '431'),
  },
  {
    category: 'method',
    reason: 'any token is a method; Node knows a list',
    section: 'RFC 9110 section 9.1',
    covers: (_text, ours, theirs) =>
      ours.kind === 'accepted' &&
      theirs.kind === 'refused' &&
      theirs.reason === 'HPE_INVALID_METHOD',
  },
]
