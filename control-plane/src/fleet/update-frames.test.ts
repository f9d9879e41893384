import { LayeredMap } from '@sluice/matching'
import { ConfigureResponse, ResourceKind, type Update } from '@sluice/proto'
import { expect, it } from 'vitest'
import { digestOf, hashOf } from '../publishing/version-hash.ts'
import type { VersionView } from '../publishing/version-view.ts'
import { UpdateFrames } from './update-frames.ts'

const bytes = (text: string) => Buffer.from(text)

/** Of "kind name" and content. */
function view(...resources: readonly [string, string][]): VersionView {
  const entries = LayeredMap.of(
    new Map(
      resources.map(([key, content]) => {
        const encoded = bytes(content)
        return [key, { encoded, digest: digestOf(encoded), needs: [] }]
      }),
    ),
  )
  const hash = hashOf(Array.from(entries.values(), ({ digest }) => digest))
  return { hash, entries, needs: [], isEmptyOnPurpose: false }
}

function read(frame: Buffer): Update {
  const { message } = ConfigureResponse.decode(frame)
  if (message?.$case !== 'update') throw new Error('not an update')
  return message.value
}

const first = view(['router a', '1'], ['router b', '1'], ['service s', '1'])
const second = view(['router b', '2'], ['service s', '1'], ['router c', '1'])
const limits = { baseEntriesMax: 10, frameBytesMax: 10_000 }

it('holds only what changed for a node whose state is known', () => {
  const frames = new UpdateFrames(limits)
  frames.frameOf(1n, first, undefined)
  const update = read(frames.frameOf(2n, second, { version: 1n, hash: first.hash }))
  expect(update).toEqual({
    version: 2n,
    hash: second.hash,
    baseVersion: 1n,
    baseHash: first.hash,
    content: {
      $case: 'delta',
      value: {
        resources: [bytes('2'), bytes('1')],
        removed: [{ kind: ResourceKind.ROUTER, name: 'a' }],
        emptyOnPurpose: false,
      },
    },
  })
})

it('holds the whole for a node whose state is unknown, or that takes no delta', () => {
  const frames = new UpdateFrames(limits)
  frames.frameOf(1n, first, undefined)
  for (const base of [undefined, { version: 1n, hash: 'ff' }]) {
    expect(read(frames.frameOf(2n, second, base)).content?.$case).toBe('full')
  }
})

it('is made once for all nodes that take the same step', () => {
  const frames = new UpdateFrames(limits)
  const base = { version: 1n, hash: first.hash }
  const whole = frames.frameOf(1n, first, undefined)
  expect(frames.frameOf(1n, first, undefined)).toBe(whole)
  const step = frames.frameOf(2n, second, base)
  expect(frames.frameOf(2n, second, base)).toBe(step)
  expect(frames.frameOf(2n, second, { ...base, version: 9n })).not.toBe(step)
})

it('forgets the oldest states when they come to too many resources', () => {
  const frames = new UpdateFrames({ ...limits, baseEntriesMax: 6 })
  const views = [first, second, view(['router d', '3'], ['router e', '4'], ['router f', '5'])]
  for (const [index, one] of views.entries()) frames.frameOf(BigInt(index + 1), one, undefined)
  const last = view(['router d', '6'], ['router e', '4'])
  const kindFrom = ({ hash }: VersionView) =>
    read(frames.frameOf(4n, last, { version: 1n, hash })).content?.$case
  expect(views.map(kindFrom)).toEqual(['full', 'full', 'delta'])
})

it('keeps no more bytes than it may, and sends what is larger all the same', () => {
  const frames = new UpdateFrames({ ...limits, frameBytesMax: 300 })
  const large = view(['certificate c', 'x'.repeat(400)])
  const whole = frames.frameOf(1n, large, undefined)
  expect(read(whole).content?.$case).toBe('full')
  frames.frameOf(2n, first, undefined)
  expect(frames.frameOf(1n, large, undefined)).not.toBe(whole)
})

it('tells a node whose content stays only the new number', () => {
  const frames = new UpdateFrames(limits)
  frames.frameOf(1n, first, undefined)
  const frame = frames.frameOf(2n, { ...first }, { version: 1n, hash: first.hash })
  expect(read(frame).content).toEqual({
    $case: 'delta',
    value: { resources: [], removed: [], emptyOnPurpose: false },
  })
  expect(frame.length).toBeLessThan(200)
})
