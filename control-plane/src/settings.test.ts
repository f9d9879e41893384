import { expect, it } from 'vitest'
import { readSettings } from './settings.ts'

const read = (argv: string[], environment = {}) => readSettings(argv, environment, '0')

it('has a default for every flag', () => {
  expect(read([])).toEqual({
    dataDir: '.sluice',
    admin: { host: '127.0.0.1', port: 7400 },
    fleet: { host: '127.0.0.1', port: 7401 },
    fleetNames: [],
    masterKeyFile: undefined,
    masterKey: undefined,
    masterKeyBefore: undefined,
    masterKeyCommand: undefined,
    adminTls: undefined,
    adminTlsCert: undefined,
    adminTlsKey: undefined,
    adminInsecure: false,
    auditDays: 730,
    logFormat: 'json',
    logLevel: 'info',
  })
})

it('takes addresses with names and IPv6', () => {
  const { admin, fleet } = read(['--admin', '[::1]:1', '--fleet', 'localhost:0'])
  expect({ admin, fleet }).toEqual({
    admin: { host: '::1', port: 1 },
    fleet: { host: 'localhost', port: 0 },
  })
})

it('takes --fleet-name more than once, and with commas', () => {
  const { fleetNames } = read(['--fleet-name', 'a.example,10.0.0.1', '--fleet-name', 'B'])
  expect(fleetNames).toEqual(['a.example', '10.0.0.1', 'b'])
})

it('takes the master key from the environment handed in', () => {
  expect(read([], { SLUICE_MASTER_KEY: 'key' }).masterKey).toBe('key')
})
