/**
 * Composition root of a worker: owns listeners and traffic and nothing else. Applies versions by building all
 * that is new beside what runs and then swapping one reference for each entry point.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Outcome } from '@sluice/proto'
import {
  type CompiledConfiguration,
  type CompiledRouter,
  compileParts,
} from '../configuration/compile.ts'
import { type ResourcePart, readResource } from '../configuration/resource-part.ts'
import { limits } from '../limits.ts'
import type { Configure, DrainCount, WorkerGauges, WorkerMessage } from '../worker-protocol.ts'
import { DeadlineSweep } from './deadline-sweep.ts'
import type { Engine, Route } from './engine.ts'
import type { ClientConnection } from './exchange/client-connection.ts'
import type { EntryPoint } from './exchange/entry-point.ts'
import { HeadParser } from './http1/head-parser.ts'
import { OutputBuffer } from './http1/output-buffer.ts'
import { Admission, readDescriptorsMax } from './listeners/admission.ts'
import { EntryPointListener } from './listeners/entry-point-listener.ts'
import { TicketKeys } from './listeners/ticket-keys.ts'
import { TlsContexts } from './listeners/tls-contexts.ts'
import type { NameLookup } from './names/name-lookup.ts'
import { NameTable } from './names/name-table.ts'
import { Gauges } from './observe/gauges.ts'
import { LogSampler } from './observe/log-sampler.ts'
import { Reporter } from './observe/reporter.ts'
import { TrafficCounters } from './observe/traffic-counters.ts'
import { Warnings } from './observe/warnings.ts'
import { LargeWriters } from './transport/large-writers.ts'
import { NetDialler } from './transport/net-dialler.ts'
import type { StreamHandle } from './transport/stream-internals.ts'
import { UpstreamRegistry } from './upstreams/upstream-registry.ts'
import type { UpstreamService } from './upstreams/upstream-service.ts'

const DRAIN_CHECK_MS = 20

export class Worker {
  readonly #send: (message: WorkerMessage) => void
  readonly #engine: Engine
  readonly #counters = new TrafficCounters()
  readonly #contexts = new TlsContexts()
  readonly #ticketKeys = new TicketKeys()
  readonly #largeWriters = new LargeWriters()
  readonly #admission: Admission
  #logsSet = 0
  #logsRaised = 0
  readonly #upstreams: UpstreamRegistry
  readonly #reporter: Reporter
  readonly #entryPoints = new Map<string, EntryPoint>()
  readonly #listeners = new Map<string, EntryPointListener>()
  /** Entry points that are in no version any more and still have connections. */
  #removed: EntryPoint[] = []
  #drainingRoutes: readonly Route[] = []
  /** Of the applied version. */
  #parts: readonly ResourcePart[] = []
  /** Of the applied version; the routes are at the places of their routers. */
  #routers: readonly CompiledRouter[] = []
  #routes: readonly Route[] = []

  constructor(send: (message: WorkerMessage) => void, lookup: NameLookup) {
    const now = () => performance.now()
    const gauges = new Gauges()
    const sampler = new LogSampler(Math.random)
    const warnings = new Warnings(now, send)
    this.#send = send
    this.#admission = new Admission(gauges, warnings, readDescriptorsMax())
    this.#engine = {
      output: new OutputBuffer(),
      requestHead: new HeadParser(),
      answerHead: new HeadParser(),
      deadlines: new DeadlineSweep(now),
      gauges,
      sampler,
      warnings,
      unroutedCounter: this.#counters.of('', ''),
      now,
      isDraining: false,
    }
    const names = new NameTable({
      deadlines: this.#engine.deadlines,
      gauges,
      lookup,
      onNotice: (notice) => send({ kind: 'notice', notice }),
    })
    const { output, answerHead, deadlines } = this.#engine
    const dialler = new NetDialler()
    this.#upstreams = new UpstreamRegistry(
      { output, answerHead, deadlines, gauges, dialler },
      names,
      (notice) => send({ kind: 'notice', notice }),
    )
    const draining = () => this.#drainCounts()
    const unhealthy = () => this.#upstreams.unhealthyServers()
    this.#reporter = new Reporter(this.#counters, sampler, gauges, { draining, unhealthy }, send)
  }

  get gauges(): WorkerGauges {
    return this.#engine.gauges.snapshot()
  }

  start(): void {
    this.#engine.deadlines.start()
    this.#reporter.start()
    this.#send({ kind: 'started' })
  }

  configure({ version, resources, gone }: Configure): void {
    const parts = gone === undefined ? [] : without(this.#parts, gone)
    for (const bytes of resources) parts.push(readResource(bytes))
    const result = compileParts(parts)
    if (result.kind === 'refused') {
      this.#send({ kind: 'rejected', version, problems: result.problems })
      return
    }
    this.#apply(result.configuration)
    this.#parts = parts
    this.#send({ kind: 'applied', version })
  }

  /** Newest first. */
  setTicketKeys(keys: readonly Uint8Array[]): void {
    this.#ticketKeys.set(keys)
  }

  /** Lines to keep in any second, where the version's setting is lower. */
  raiseLogs(linesPerSecond: number): void {
    this.#logsRaised = linesPerSecond
    this.#setLogCapacity()
  }

  /** Starts to accept from a listening handle for an entry point of the running version. */
  listen(name: string, handle: StreamHandle): void {
    const entryPoint = this.#entryPoints.get(name)
    if (entryPoint === undefined) {
      handle.close()
      return
    }
    entryPoint.isClosing = false
    const parts = {
      engine: this.#engine,
      admission: this.#admission,
      contexts: this.#contexts,
      ticketKeys: this.#ticketKeys,
      largeWriters: this.#largeWriters,
    }
    const listener = new EntryPointListener(parts, entryPoint)
    listener.open(handle)
    // A changed address: the new listener is there before the old one goes.
    this.#listeners.get(name)?.drain()
    this.#listeners.set(name, listener)
    this.#send({ kind: 'listening', entryPoint: name })
  }

  /** Accepts from another copy of the handle too. */
  listenMore(name: string, handle: StreamHandle): void {
    const listener = this.#listeners.get(name)
    if (listener === undefined) handle.close()
    else listener.open(handle)
  }

  unlisten(name: string): void {
    const entryPoint = this.#entryPoints.get(name)
    // It is still in the version where the node drains: connections end with what they do now.
    if (entryPoint !== undefined) entryPoint.isClosing = true
    this.#listeners.get(name)?.drain()
    this.#listeners.delete(name)
  }

  /**
   * Resolves when all connections have ended and all counts are reported. What still runs after `graceMs` is
   * ended then: tunnels with FINs, exchanges at once, each with its record.
   */
  async drain(graceMs: number): Promise<void> {
    this.#engine.isDraining = true
    for (const listener of this.#listeners.values()) listener.drain()
    await this.#waitForConnections(graceMs)
    for (const connection of this.#connections()) connection.endGrace()
    await this.#waitForConnections(limits.lastFinTimeoutMs)
    for (const connection of this.#connections()) connection.abort(Outcome.SHED)
    this.stop()
  }

  /** The last report; nothing is counted after it. */
  stop(): void {
    this.#upstreams.stop()
    this.#reporter.stop()
    this.#engine.deadlines.stop()
  }

  #drainCounts(): DrainCount[] {
    const routers = this.#drainingRoutes.map(({ router, counter }) => ({
      kind: 'router' as const,
      name: router,
      serverUrl: '',
      exchangesOpen: counter.open,
    }))
    return [...routers, ...this.#upstreams.drainCounts()]
  }

  #connections(): ClientConnection[] {
    const entryPoints = [...this.#removed, ...this.#entryPoints.values()]
    return entryPoints.flatMap(({ connections }) => [...connections])
  }

  async #waitForConnections(ms: number): Promise<void> {
    const deadline = performance.now() + ms
    while (this.#engine.gauges.connectionsOpen > 0 && performance.now() < deadline) {
      await delay(DRAIN_CHECK_MS)
    }
  }

  #apply(configuration: CompiledConfiguration): void {
    const services = this.#upstreams.apply(configuration.services)
    const routes = this.#routesOf(configuration.routers, services)
    this.#routers = configuration.routers
    this.#routes = routes
    this.#drainingRoutes = routes.filter(({ isDraining }) => isDraining)
    this.#logsSet = configuration.logsPerSecondPerNode
    this.#setLogCapacity()
    this.#applyEntryPoints(configuration, routes)
    this.#contexts.setTable(configuration.certificates)
  }

  #setLogCapacity(): void {
    this.#engine.sampler.capacity = Math.max(this.#logsSet, this.#logsRaised)
  }

  /** Routers that stay are the same objects in the same order, so one walk finds what is there for them. */
  #routesOf(
    routers: readonly CompiledRouter[],
    services: ReadonlyMap<string, UpstreamService>,
  ): Route[] {
    const stays = new Set(routers)
    let at = 0
    return routers.map((router) => {
      const { name, service, isDraining } = router
      const upstreams = services.get(service)
      // compile() has refused versions with a router whose service is missing.
      if (upstreams === undefined) throw new Error(`router ${name} has no service`)
      for (let old = this.#routers[at]; old !== undefined && !stays.has(old); ) {
        at += 1
        old = this.#routers[at]
      }
      if (this.#routers[at] === router) {
        const before = this.#routes[at]
        at += 1
        if (before?.upstreams === upstreams) return before
      }
      return {
        router: name,
        service,
        upstreams,
        counter: this.#counters.of(name, service),
        isDraining,
      }
    })
  }

  #applyEntryPoints(configuration: CompiledConfiguration, routes: readonly Route[]): void {
    const wanted = new Map(configuration.entryPoints.map((one) => [one.name, one.protocol]))
    this.#removed = this.#removed.filter(({ connections }) => connections.size > 0)
    for (const [name, entryPoint] of this.#entryPoints) {
      if (wanted.get(name) !== entryPoint.scheme) this.#remove(entryPoint)
      if (!wanted.has(name)) this.unlisten(name)
    }
    for (const { name, protocol, routes: table, ...rest } of configuration.entryPoints) {
      const { trustedPeers, proxyProtocolPeers } = rest
      const routing = { table, routes, trustedPeers, proxyProtocolPeers }
      const existing = this.#entryPoints.get(name)
      if (existing === undefined) {
        this.#entryPoints.set(name, {
          name,
          scheme: protocol,
          connections: new Set(),
          isClosing: false,
          defaultCertificate: rest.defaultCertificate,
          routing,
        })
      } else {
        existing.routing = routing
        existing.defaultCertificate = rest.defaultCertificate
      }
    }
  }

  /** Its connections finish what they do with the routers that they have, and end. */
  #remove(entryPoint: EntryPoint): void {
    entryPoint.isClosing = true
    this.#entryPoints.delete(entryPoint.name)
    this.#removed.push(entryPoint)
  }
}

/** `places`: ascending. */
function without(parts: readonly ResourcePart[], places: Uint32Array): ResourcePart[] {
  let at = 0
  return parts.filter((_, place) => {
    if (place !== places[at]) return true
    at += 1
    return false
  })
}
