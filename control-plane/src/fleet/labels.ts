/** What may label a node. */
import { fleetLimits as limits } from './limits.ts'

const keyPattern = /^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$/
const valuePattern = /^[\x20-\x7e]*$/

/** Why these labels cannot be used; undefined: they can. */
export function findLabelProblem(labels: Readonly<Record<string, string>>): string | undefined {
  const entries = Object.entries(labels)
  if (entries.length > limits.labelsMax) {
    return `has ${entries.length} entries; at most ${limits.labelsMax} are taken`
  }
  for (const [key, value] of entries) {
    if (key.length > limits.labelKeyCharactersMax || !keyPattern.test(key)) {
      return `has the key "${key.slice(0, limits.labelKeyCharactersMax)}", which is not 1 to ${limits.labelKeyCharactersMax} letters, digits, ".", "_", "/" or "-"`
    }
    if (value.length > limits.labelValueCharactersMax || !valuePattern.test(value)) {
      return `has a value for "${key}" that is not at most ${limits.labelValueCharactersMax} printable ASCII characters`
    }
  }
  return undefined
}

/** Labels as the database keeps them. */
export function readLabels(json: string): Record<string, string> {
  // Written by us alone, from checked labels.
  return JSON.parse(json) as Record<string, string>
}
