/** The code of an exchange in sluice.v1 Breakdown. Hot. */
import type { Outcome } from '@sluice/proto'
import { STATUS_CLASSES } from '../../worker-protocol.ts'

const METHOD_KINDS = 4
const PROTOCOLS = 4
const OUTCOMES = 8

export const BREAKDOWN_CODES = OUTCOMES * METHOD_KINDS * PROTOCOLS * STATUS_CLASSES.length

/** Of a status; 0: the client was sent none. */
export function statusClassOf(status: number): number {
  return status === 0 ? STATUS_CLASSES.length - 1 : ((status / 100) | 0) - 1
}

/** `method`: empty when the request could not be read. */
export function breakdownCode(
  outcome: Outcome,
  method: string,
  minorVersion: number,
  statusClass: number,
): number {
  const kind = methodKind(method)
  const protocol = kind === 0 ? 0 : minorVersion + 1
  return (
    ((outcome * METHOD_KINDS + kind) * PROTOCOLS + protocol) * STATUS_CLASSES.length + statusClass
  )
}

function methodKind(method: string): number {
  switch (method) {
    case '':
      return 0
    case 'GET':
    case 'HEAD':
      return 1
    case 'POST':
    case 'PUT':
    case 'PATCH':
    case 'DELETE':
      return 2
    default:
      return 3
  }
}
