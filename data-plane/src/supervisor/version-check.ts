/** Checks one version after the other, and reads only what the one before did not have. */
import type { Problem } from '@sluice/proto'
import { Configuration } from '../configuration/configuration.ts'
import { readResource } from '../configuration/resource-part.ts'
import type { WantedEntryPoint } from './entry-point-sockets.ts'
import type { ResourceSet } from './resource-set.ts'

export type CheckResult =
  | {
      readonly kind: 'sound'
      readonly entryPoints: readonly WantedEntryPoint[]
      readonly logsPerSecondPerNode: number
    }
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] }

export class VersionCheck {
  readonly #configuration = new Configuration()
  /** The last one that was sound: what the configuration holds. */
  #checked: ResourceSet | undefined

  check(version: ResourceSet): CheckResult {
    const { removed, resources } = version.changeFrom(this.#checked)
    const change = { removed, come: resources.map(readResource) }
    const problems = this.#configuration.problemsOf(change)
    if (problems.length > 0) return { kind: 'refused', problems }
    this.#configuration.make(change)
    this.#checked = version
    const { parts, logsPerSecondPerNode } = this.#configuration
    return { kind: 'sound', entryPoints: [...parts.entryPoint.values()], logsPerSecondPerNode }
  }
}
