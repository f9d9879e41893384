/** What works but is probably not meant. Never a reason to refuse a change. */
import type { Configuration, ResourceId } from './configuration.ts'
import { describe, type Kind, type Problem } from './kinds.ts'
import { limits } from './limits.ts'
import type { Certificate, EntryPoint, Router } from './resources.ts'

const dayMs = 86_400_000

/** The warnings for those of some resources that are routers or certificates of the configuration. */
export function findWarnings(
  configuration: Configuration,
  written: readonly ResourceId[],
  nowMs: number,
): Problem[] {
  const named = (kind: Kind) => written.filter((id) => id.kind === kind).map(({ name }) => name)
  const warnings: Problem[] = []
  for (const name of named('certificate')) {
    const certificate = configuration.certificates.get(name)
    if (certificate === undefined) continue
    for (const reason of certificateWarnings(certificate, nowMs)) {
      warnings.push({ kind: 'certificate', name, field: 'notAfter', reason })
    }
  }
  const routers = named('router').flatMap((name) => configuration.routers.get(name) ?? [])
  if (routers.length === 0) return warnings
  return [
    ...warnings,
    ...uncoveredHosts(configuration, routers),
    ...identicalMatches(configuration, routers),
  ]
}

/** About a certificate's time of validity. */
export function certificateWarnings(
  { notBefore, notAfter }: Pick<Certificate, 'notBefore' | 'notAfter'>,
  nowMs: number,
): string[] {
  const endMs = Date.parse(notAfter)
  if (endMs <= nowMs) return [`expired on ${notAfter}`]
  if (Date.parse(notBefore) > nowMs) return [`is not valid before ${notBefore}`]
  const days = Math.floor((endMs - nowMs) / dayMs)
  if (days >= limits.certificateWarningDays) return []
  return [`expires on ${notAfter}, in ${days === 1 ? '1 day' : `${days} days`}`]
}

function entryPointsOf({ entryPoints }: Configuration, router: Router): EntryPoint[] {
  if (router.entryPoints.length === 0) return [...entryPoints.values()]
  return router.entryPoints.flatMap((name) => entryPoints.get(name) ?? [])
}

function uncoveredHosts(configuration: Configuration, routers: readonly Router[]): Problem[] {
  const covered = new Set([...configuration.certificates.values()].flatMap(({ hosts }) => hosts))
  const isCovered = (host: string) =>
    covered.has(host) ||
    (!host.startsWith('*.') && covered.has(`*${host.slice(host.indexOf('.'))}`))
  const warnings: Problem[] = []
  for (const router of routers) {
    const secure = entryPointsOf(configuration, router).find(({ protocol }) => protocol === 'https')
    if (secure === undefined) continue
    for (const [index, host] of router.match.hosts.entries()) {
      if (isCovered(host)) continue
      warnings.push({
        kind: 'router',
        name: router.name,
        field: `match.hosts[${index}]`,
        reason: `"${host}" is served by no certificate, but ${describe('entry-point', secure.name)} is https`,
      })
    }
  }
  return warnings
}

function identicalMatches(configuration: Configuration, routers: readonly Router[]): Problem[] {
  // Most routers share no host with the written ones, which is cheap to see.
  const hosts = new Set(
    routers.flatMap(({ match }) => (match.hosts.length === 0 ? [''] : match.hosts)),
  )
  const likely = [...configuration.routers.values()].filter(({ match }) =>
    hosts.has(match.hosts[0] ?? ''),
  )
  const byMatch = Map.groupBy(likely, matchKey)
  return routers.flatMap((router) => {
    const twin = byMatch
      .get(matchKey(router))
      ?.find((other) => other.name !== router.name && shareEntryPoint(router, other))
    if (twin === undefined) return []
    const reason = `is identical to that of ${describe('router', twin.name)} on the same entry point, so only one of them gets requests`
    return [{ kind: 'router' as const, name: router.name, field: 'match', reason }]
  })
}

function matchKey({ match, priority }: Router): string {
  const { hosts, pathPrefixes, pathRegexes, methods, clientRanges } = match
  const lists = [hosts, pathPrefixes, pathRegexes, methods, clientRanges]
  return JSON.stringify([priority, ...lists.map((list) => list.toSorted())])
}

function shareEntryPoint(left: Router, right: Router): boolean {
  if (left.entryPoints.length === 0 || right.entryPoints.length === 0) return true
  return left.entryPoints.some((name) => right.entryPoints.includes(name))
}
