import { expect, test } from 'vitest'
import { Random } from '../testing/random.ts'
import { HeldResources } from './held-resources.ts'

function resource(number: number): Uint8Array {
  return Uint8Array.of(number)
}

test('messages lead to the wanted resources from any version to any other', () => {
  const random = new Random(7)
  const pool = Array.from({ length: 12 }, (_, number) => resource(number))
  let held = HeldResources.none
  let atWorker: Uint8Array[] = []
  for (let step = 0; step < 500; step += 1) {
    const wanted = pool.filter(() => random.chance(0.6))
    const { message, after } = held.to(wanted)
    const gone = new Set(message.gone ?? atWorker.keys())
    atWorker = atWorker.filter((_, place) => !gone.has(place)).concat(message.resources)
    expect(new Set(atWorker)).toEqual(new Set(wanted))
    expect(atWorker).toHaveLength(wanted.length)
    held = after
  }
})

test('what stays is not sent again', () => {
  const [a, b, c] = [resource(1), resource(2), resource(3)]
  const { after } = HeldResources.none.to([a, b])
  expect(after.to([b, c]).message).toEqual({ gone: Uint32Array.of(0), resources: [c] })
})
