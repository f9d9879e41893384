/** What may label a node, and what selects nodes by their labels. */
import { limits } from './limits.ts'

export type Labels = Readonly<Record<string, string>>

const keyPattern = /^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$/
const valuePattern = /^[\x20-\x7e]*$/

/** Why these labels cannot be used; undefined: they can. */
export function findLabelProblem(labels: Labels): string | undefined {
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

/** Whether a node with these labels has all that a selector asks for. The empty selector takes every node. */
export function isSelected(selector: Labels, labels: Labels): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value)
}
