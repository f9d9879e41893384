/** A router taken apart into conditions that each have one host and one path. */
import type { Router } from '@sluice/proto'
import { RE2JS } from 're2js'
import { compileRanges } from './ranges.ts'
import { orderOf, type PathCondition, type RouteCondition } from './route-table.ts'

export type Report = (field: string, reason: string) => void

/** Whether an entry point has the router: one that names none is on all. */
export function isOnEntryPoint(
  router: { readonly entryPoints: readonly string[] } | undefined,
  entryPoint: string,
): boolean {
  const names = router?.entryPoints ?? []
  return names.length === 0 || names.includes(entryPoint)
}

export function conditionsOf(router: Router, report: Report): RouteCondition[] {
  const match = router.match
  const hosts = match === undefined || match.hosts.length === 0 ? [''] : match.hosts
  const clientRanges = compileRanges(match?.clientRanges ?? [], (at, reason) =>
    report(`match.clientRanges[${at}]`, reason),
  )
  const methods =
    match === undefined || match.methods.length === 0 ? undefined : new Set(match.methods)
  return compilePaths(router, report).flatMap((path) =>
    hosts.map((host) => {
      const { name, priority } = router
      const condition = { name, priority, host: host.toLowerCase(), path, methods, clientRanges }
      return { ...condition, order: orderOf(condition) }
    }),
  )
}

function compilePaths(router: Router, report: Report): PathCondition[] {
  const paths: PathCondition[] = []
  for (const prefix of router.match?.pathPrefixes ?? []) paths.push(compilePrefix(prefix))
  for (const [at, source] of (router.match?.pathRegexes ?? []).entries()) {
    try {
      paths.push({ kind: 'regex', regex: RE2JS.compile(source), source })
    } catch (error) {
      report(`match.pathRegexes[${at}]`, error instanceof Error ? error.message : String(error))
    }
  }
  return paths.length === 0 ? [{ kind: 'any' }] : paths
}

/** Prefixes end at segment boundaries, so a slash at the end says nothing more. */
function compilePrefix(prefix: string): PathCondition {
  const trimmed = prefix.endsWith('/') ? prefix.slice(0, -1) : prefix
  return trimmed === '' ? { kind: 'any' } : { kind: 'prefix', prefix: trimmed }
}
