import { afterAll, beforeAll, expect, it } from 'vitest'
import { RunningControlPlane } from './testing/running-control-plane.ts'

let api: RunningControlPlane

beforeAll(async () => {
  api = await RunningControlPlane.start()
})

afterAll(() => api.remove())

it('tells Prometheus of the fleet, with the admin token', async () => {
  await api.post('/services', { name: 's', servers: [{ url: 'http://h:1' }] })
  const { status, contentType, text } = await api.send('GET', '/metrics')
  expect([status, contentType]).toEqual([200, expect.stringMatching(/^text\/plain; version=0.0.4/)])
  expect(text.split('\n')).toEqual(
    expect.arrayContaining([
      'sluice_control_plane_version 1',
      'sluice_control_plane_objects{kind="services"} 1',
      'sluice_control_plane_nodes{state="in-sync"} 0',
      'sluice_control_plane_telemetry_rows{table="traffic"} 0',
    ]),
  )
})

it('tells nobody else', async () => {
  const { status } = await api.send('GET', '/metrics', undefined, { token: null })
  expect(status).toBe(401)
})
