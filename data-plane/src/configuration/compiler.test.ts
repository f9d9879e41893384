import { expect, test } from 'vitest'
import { Random } from '../testing/random.ts'
import { encodeEntryPoint, encodeRouter, encodeService } from '../testing/resources.ts'
import { type CompileResult, compile } from './compile.ts'
import { Compiler } from './compiler.ts'

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

/** The answers to all combinations, or the problems. */
function behaviour(result: CompileResult): unknown {
  if (result.kind === 'refused') return result.problems
  const { entryPoints, routers } = result.configuration
  return entryPoints.flatMap(({ routes }) =>
    HOSTS.flatMap((host) =>
      PATHS.flatMap((path) =>
        METHODS.map((method) => routers[routes.match(host, path, method, '127.0.0.1')]?.name),
      ),
    ),
  )
}

test('a version compiled after others behaves as one compiled from nothing', () => {
  for (let seed = 0; seed < 30; seed += 1) {
    const random = new Random(seed)
    const compiler = new Compiler()
    const fixed = [encodeEntryPoint('web'), encodeService('s', [1])]
    const routers = new Map<number, Uint8Array>()
    for (let step = 0; step < 20; step += 1) {
      const number = random.between(0, 7)
      if (random.chance(0.3)) routers.delete(number)
      else routers.set(number, randomRouter(random, number))
      const resources = [...fixed, ...routers.values()]
      const copies = resources.map((bytes) => Uint8Array.from(bytes))
      expect(behaviour(compiler.compile(resources))).toEqual(behaviour(compile(copies)))
    }
  }
})
