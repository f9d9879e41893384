/**
 * The views of one version. Which one a node gets depends only on which of the version's selectors its labels
 * fit, so nodes share a view whatever else their labels say; each is made when the first node asks for it.
 */
import { LayeredMap } from '@sluice/matching'
import { isSelected, type Labels } from '../model/labels.ts'
import { findConcerned } from './concerned-resources.ts'
import type { PublishedState } from './published-state.ts'
import { hashOf } from './version-hash.ts'
import { needsOf, type VersionView } from './version-view.ts'

export class VersionViews {
  readonly whole: VersionView
  readonly #state: PublishedState
  readonly #selectors: readonly Labels[]
  readonly #byChoice = new Map<string, VersionView>()

  constructor(state: PublishedState, whole: { hash: string; isEmptyOnPurpose: boolean }) {
    this.#state = state
    this.whole = Object.freeze({
      ...whole,
      entries: state.entries,
      needs: needsOf(state.needy),
    })
    this.#selectors = distinctSelectors(state)
  }

  viewFor(labels: Labels): VersionView {
    if (this.#selectors.length === 0) return this.whole
    const chosen = this.#selectors.map((selector) => isSelected(selector, labels))
    const choice = chosen.map((isChosen) => (isChosen ? '1' : '0')).join('')
    const known = this.#byChoice.get(choice)
    if (known !== undefined) return known
    const view = this.#make(labels)
    this.#byChoice.set(choice, view)
    return view
  }

  #make(labels: Labels): VersionView {
    const concerned = findConcerned(this.#state.configuration, labels)
    const entries = LayeredMap.of(
      new Map([...this.#state.entries].filter(([, { resource }]) => concerned(resource))),
    )
    return Object.freeze({
      hash: hashOf(Array.from(entries.values(), ({ digest }) => digest)),
      entries,
      needs: needsOf(entries),
      // A node for which there are no routers among those of others is meant to have none.
      isEmptyOnPurpose: this.whole.isEmptyOnPurpose || this.#state.configuration.counts.routers > 0,
    })
  }
}

function distinctSelectors({ selective }: PublishedState): Labels[] {
  const distinct = new Map<string, Labels>()
  for (const { nodes } of selective.values()) distinct.set(JSON.stringify(nodes), nodes)
  return [...distinct.values()]
}
