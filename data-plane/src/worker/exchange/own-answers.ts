/** The answers that the node gives itself: short, plain, and with no word about the inside of the fleet. */

export type OwnStatus = 400 | 404 | 408 | 414 | 431 | 501 | 502 | 503 | 504 | 505

const REASONS: Readonly<Record<OwnStatus, string>> = {
  400: 'Bad Request',
  404: 'Not Found',
  408: 'Request Timeout',
  414: 'URI Too Long',
  431: 'Request Header Fields Too Large',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  505: 'HTTP Version Not Supported',
}

const heads = new Map<OwnStatus, string>()
const bodies = new Map<OwnStatus, string>()
for (const [key, reason] of Object.entries(REASONS)) {
  const status = Number(key) as OwnStatus
  const body = `${status} ${reason}\n`
  const retryLine = status === 503 ? 'Retry-After: 1\r\n' : ''
  bodies.set(status, body)
  heads.set(
    status,
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${body.length}\r\n${retryLine}`,
  )
}

/** The whole answer. `connectionLine` is '' or a Connection field with its CRLF. */
export function ownAnswer(status: OwnStatus, connectionLine: string, isHead: boolean): string {
  return `${heads.get(status)}Date: ${httpDate()}\r\n${connectionLine}\r\n${isHead ? '' : bodies.get(status)}`
}

let dateSecond = 0
let dateText = ''

/** IMF-fixdate (RFC 9110 section 5.6.7), made once a second. */
function httpDate(): string {
  const now = Date.now()
  const second = Math.floor(now / 1_000)
  if (second !== dateSecond) {
    dateSecond = second
    dateText = new Date(now).toUTCString()
  }
  return dateText
}
