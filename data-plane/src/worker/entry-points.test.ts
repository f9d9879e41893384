import { ResourceKind } from '@sluice/proto'
import { expect, test } from 'vitest'
import { Configuration } from '../configuration/configuration.ts'
import { type RouterPart, readResource } from '../configuration/resource-part.ts'
import { Random } from '../testing/random.ts'
import { encodeEntryPoint, encodeRouter, encodeService } from '../testing/resources.ts'
import type { Route } from './engine.ts'
import { EntryPoints } from './entry-points.ts'

const HOSTS = ['a.test', 'b.test', '*.test', 'x.a.test']
const PATHS = ['/', '/a', '/a/b', '/b']
const METHODS = ['GET', 'POST']

function randomRouter(random: Random, number: number): Uint8Array {
  const some = (choices: readonly string[]) => choices.filter(() => random.chance(0.3))
  const match = {
    hosts: some(HOSTS),
    pathPrefixes: some(PATHS),
    pathRegexes: random.chance(0.1) ? ['/a/.*'] : random.chance(0.02) ? ['('] : [],
    methods: some(METHODS),
  }
  const service = random.chance(0.02) ? 'missing' : 's'
  return encodeRouter(`r${number}`, service, match, random.between(0, 2))
}

/** A configuration and its entry points, as a worker has them. */
class Applied {
  readonly #configuration = new Configuration()
  readonly #entryPoints = new EntryPoints()

  /** False: refused. */
  change(removed: readonly string[], come: readonly Uint8Array[]): boolean {
    const keys = removed.map((name) => ({ kind: ResourceKind.ROUTER, name }))
    const change = { removed: keys, come: come.map(readResource) }
    if (this.#configuration.problemsOf(change).length > 0) return false
    this.#configuration.make(change)
    this.#entryPoints.apply(change, (router) => routeOf(router))
    return true
  }

  /** The answers to all combinations. */
  behaviour(): unknown {
    return ['web', 'other'].flatMap((name) => {
      const table = this.#entryPoints.get(name)?.routing.table
      return HOSTS.flatMap((host) =>
        PATHS.flatMap((path) =>
          METHODS.map((method) => table?.match(host, path, method, '127.0.0.1')?.router),
        ),
      )
    })
  }
}

/** Routes as tables hold them; no exchange uses these. */
function routeOf({ name, service, isDraining }: RouterPart): Route {
  return { router: name, service, isDraining } as Route
}

test('a version that came by changes routes as the same one that came whole', () => {
  for (let seed = 0; seed < 30; seed += 1) {
    const random = new Random(seed)
    const applied = new Applied()
    let fixed = [encodeEntryPoint('web'), encodeService('s', [1])]
    applied.change([], fixed)
    const routers = new Map<number, Uint8Array>()
    for (let step = 0; step < 20; step += 1) {
      const number = random.between(0, 7)
      if (random.chance(0.3)) {
        expect(applied.change([`r${number}`], [])).toBe(true)
        routers.delete(number)
      } else {
        const router = randomRouter(random, number)
        const isSound = applied.change([], [router])
        expect(isSound).toBe(new Applied().change([], [...fixed, router]))
        if (isSound) routers.set(number, router)
      }
      if (step === 10) {
        const other = encodeEntryPoint('other')
        applied.change([], [other])
        fixed = [...fixed, other]
      }
      const whole = new Applied()
      whole.change([], [...fixed, ...routers.values()])
      expect(applied.behaviour()).toEqual(whole.behaviour())
    }
  }
})
