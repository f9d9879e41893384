import { type ResourceKey, ResourceKind } from '@sluice/proto'
import { describe, expect, it } from 'vitest'
import {
  encodeCertificate,
  encodeEntryPoint,
  encodeRouter,
  encodeService,
  encodeSettings,
} from '../testing/resources.ts'
import { Configuration, problemsOf } from './configuration.ts'
import { readResource } from './resource-part.ts'

describe('the problems of a whole version', () => {
  it('names object, field and reason of everything that is wrong, at once', () => {
    const problems = problemsOf([
      encodeEntryPoint('web', { address: 'nonsense', trustedPeers: ['10.0.0.0/99'] }),
      encodeService('s', [1]),
      encodeRouter('r', 'gone', { pathRegexes: ['('], clientRanges: ['x'] }),
    ])
    expect(problems.map(({ object, field }) => `${object?.name} ${field}`).toSorted()).toEqual([
      'r match.clientRanges[0]',
      'r match.pathRegexes[0]',
      'r service',
      'web address',
      'web trustedPeers[0]',
    ])
  })

  it('refuses bytes that are no resource', () => {
    expect(problemsOf([Buffer.from('garbage')])).toHaveLength(1)
  })
})

describe('a change', () => {
  function changed(configuration: Configuration, removed: ResourceKey[], come: Uint8Array[]) {
    const change = { removed, come: come.map(readResource) }
    const problems = configuration.problemsOf(change)
    if (problems.length === 0) configuration.make(change)
    return problems.map(({ object, field, reason }) => `${object?.name} ${field}: ${reason}`)
  }

  function fresh(): Configuration {
    const configuration = new Configuration()
    const resources = [
      encodeEntryPoint('web', { defaultCertificate: 'c' }),
      encodeCertificate('c', [], '', ''),
      encodeService('s', [1]),
      encodeRouter('r', 's'),
    ]
    const change = { removed: [], come: resources.map(readResource) }
    configuration.make(change)
    return configuration
  }

  it('is refused where it takes away what stays in use', () => {
    const configuration = fresh()
    const { SERVICE, CERTIFICATE } = ResourceKind
    expect(changed(configuration, [{ kind: SERVICE, name: 's' }], [])).toEqual([
      'r service: no service named "s"',
    ])
    expect(changed(configuration, [{ kind: CERTIFICATE, name: 'c' }], [])).toEqual([
      'web defaultCertificate: no certificate named "c"',
    ])
    expect([...configuration.parts.service.keys()]).toEqual(['s'])
  })

  it('may take away what is used by what it changes, and what it brings may replace what it takes', () => {
    const configuration = fresh()
    const removed = [{ kind: ResourceKind.SERVICE, name: 's' }]
    expect(
      changed(configuration, removed, [encodeRouter('r', 't'), encodeService('t', [1])]),
    ).toEqual([])
    expect(changed(configuration, removed, [encodeService('s', [1])])).toEqual([])
    expect([...configuration.parts.service.keys()]).toEqual(['t', 's'])
  })

  it('that takes the settings away brings the defaults back', () => {
    const configuration = fresh()
    const before = configuration.logsPerSecondPerNode
    changed(configuration, [], [encodeSettings(77)])
    expect(configuration.logsPerSecondPerNode).toBe(77)
    changed(configuration, [{ kind: ResourceKind.SETTINGS, name: 'settings' }], [])
    expect(configuration.logsPerSecondPerNode).toBe(before)
  })
})
