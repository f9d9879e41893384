/** The codes of sluice.v1 Breakdown: outcome, kind of method, protocol and status of an exchange in one number. */

export const statuses = [
  'informational',
  'success',
  'redirection',
  'clientError',
  'serverError',
  'none',
] as const
export const protocols = ['unknown', 'http/1.0', 'http/1.1', 'http/2'] as const
export const methods = ['unknown', 'read', 'write', 'other'] as const
/** With the numbers of sluice.v1 Outcome. */
export const outcomes = [
  'unknown',
  'origin-answered',
  'proxy-answered',
  'client-left',
  'request-refused',
  'upstream-failed',
  'upstream-timed-out',
  'shed',
] as const

/** Codes are below this. */
export const breakdownCodesMax =
  outcomes.length * methods.length * protocols.length * statuses.length

export interface BreakdownNames {
  readonly status: (typeof statuses)[number]
  readonly protocol: (typeof protocols)[number]
  readonly method: (typeof methods)[number]
  readonly outcome: (typeof outcomes)[number]
}

const names: readonly BreakdownNames[] = Array.from({ length: breakdownCodesMax }, (_, code) => {
  const protocol = Math.floor(code / statuses.length)
  const method = Math.floor(protocol / protocols.length)
  const outcome = Math.floor(method / methods.length)
  return {
    status: statuses[code % statuses.length] ?? 'none',
    protocol: protocols[protocol % protocols.length] ?? 'unknown',
    method: methods[method % methods.length] ?? 'unknown',
    outcome: outcomes[outcome] ?? 'unknown',
  }
})

/** What a code below breakdownCodesMax stands for. */
export function namesOf(code: number): BreakdownNames | undefined {
  return names[code]
}
