/** Which router and which certificate a request gets. The only import path of this package. */
export {
  type CertificateTable,
  certificateTable,
  findCertificate,
} from './certificate-table.ts'
export {
  type Condition,
  explainMatch,
  failedConditions,
  type MatchExplanation,
  type MatchRequest,
  type NearMatch,
} from './explain-match.ts'
export { compileRanges } from './ranges.ts'
export { canonicalHost, normalisePath, type Path } from './request-path.ts'
export {
  NO_ROUTER,
  type PathCondition,
  type RouteEntry,
  RouteTable,
  rank,
  type UnrankedEntry,
} from './route-table.ts'
export { entriesOf, isOnEntryPoint, type Report } from './router-entries.ts'
