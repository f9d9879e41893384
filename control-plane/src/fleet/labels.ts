/** Labels as the database keeps them. */
import type { Labels } from '../model/labels.ts'

export function readLabels(json: string): Labels {
  // Written by us alone, from checked labels.
  return JSON.parse(json) as Labels
}
