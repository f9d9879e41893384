/** A host of its own for each test, so that tests share a fleet without sharing what they route. */
import { randomUUID } from 'node:crypto'
import type { Document } from './api-client.ts'
import { type Fleet, router, service } from './fleet.ts'

export interface RouteOptions {
  readonly service?: Document
  readonly router?: Document
}

/** Publishes a router for a new host and its service; when it returns, every node serves them. */
export async function routeTo(
  fleet: Fleet,
  ports: readonly number[],
  options: RouteOptions = {},
): Promise<string> {
  const name = `t-${randomUUID().slice(0, 8)}`
  const host = `${name}.test`
  await fleet.publish(
    service(name, ports, options.service),
    router(name, host, name, options.router),
  )
  return host
}
