/** What both planes compute alike. The only import path of this package. */
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
export { LayeredMap } from './layered-map.ts'
export { compileRanges } from './ranges.ts'
export { canonicalHost, normalisePath, type Path } from './request-path.ts'
export {
  compareConditions,
  type PathCondition,
  type RouteCondition,
  type RouteEntry,
  RouteTable,
} from './route-table.ts'
export { conditionsOf, isOnEntryPoint, type Report } from './router-entries.ts'
export { digestText, SortedDigests } from './sorted-digests.ts'
