/**
 * Composition root of a worker: owns listeners and traffic and nothing else. A version that is sound is applied
 * in one turn of the event loop, at the cost of what it changes.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { certificateTable } from '@sluice/matching'
import { Outcome, ResourceKind } from '@sluice/proto'
import { Configuration, type ConfigurationChange } from '../configuration/configuration.ts'
import { type RouterPart, readResource } from '../configuration/resource-part.ts'
import { limits } from '../limits.ts'
import type { Configure, DrainCount, WorkerGauges, WorkerMessage } from '../worker-protocol.ts'
import { DeadlineSweep } from './deadline-sweep.ts'
import type { Engine, Route } from './engine.ts'
import { EntryPoints } from './entry-points.ts'
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
import { WallClock } from './observe/wall-clock.ts'
import { Warnings } from './observe/warnings.ts'
import { LargeWriters } from './transport/large-writers.ts'
import { NetDialler } from './transport/net-dialler.ts'
import type { StreamHandle } from './transport/stream-internals.ts'
import { UpstreamRegistry } from './upstreams/upstream-registry.ts'

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
  /** Of the applied version. */
  readonly #configuration = new Configuration()
  readonly #entryPoints = new EntryPoints()
  readonly #listeners = new Map<string, EntryPointListener>()

  constructor(send: (message: WorkerMessage) => void, lookup: NameLookup) {
    const now = () => performance.now()
    const gauges = new Gauges()
    const sampler = new LogSampler(Math.random)
    const warnings = new Warnings(now, send)
    const wallClock = new WallClock()
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
      wallClock,
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
    const states = { draining, unhealthy }
    const counters = this.#counters
    this.#reporter = new Reporter({ counters, sampler, gauges, states, wallClock, send })
  }

  get gauges(): WorkerGauges {
    return this.#engine.gauges.snapshot()
  }

  start(): void {
    this.#engine.deadlines.start()
    this.#reporter.start()
    this.#send({ kind: 'started' })
  }

  configure({ version, resources, removed }: Configure): void {
    const change = { removed, come: resources.map(readResource) }
    const problems = this.#configuration.problemsOf(change)
    if (problems.length > 0) {
      this.#send({ kind: 'rejected', version, problems })
      return
    }
    this.#configuration.make(change)
    this.#apply(change)
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
    for (const connection of this.#entryPoints.connections()) connection.endGrace()
    await this.#waitForConnections(limits.lastFinTimeoutMs)
    for (const connection of this.#entryPoints.connections()) connection.abort(Outcome.SHED)
    this.stop()
  }

  /** The last report; nothing is counted after it. */
  stop(): void {
    this.#upstreams.stop()
    this.#reporter.stop()
    this.#engine.deadlines.stop()
  }

  #drainCounts(): DrainCount[] {
    const routers = this.#entryPoints.drainingRoutes().map(({ router, counter }) => ({
      kind: 'router' as const,
      name: router,
      serverUrl: '',
      exchangesOpen: counter.open,
    }))
    return [...routers, ...this.#upstreams.drainCounts()]
  }

  async #waitForConnections(ms: number): Promise<void> {
    const deadline = performance.now() + ms
    while (this.#engine.gauges.connectionsOpen > 0 && performance.now() < deadline) {
      await delay(DRAIN_CHECK_MS)
    }
  }

  #apply(change: ConfigurationChange): void {
    const { parts, logsPerSecondPerNode } = this.#configuration
    this.#upstreams.apply(change)
    const gone = this.#entryPoints.apply(change, (router) => this.#routeOf(router))
    for (const { router, service, counter } of gone) {
      if (parts.router.get(router)?.service !== service) this.#counters.drop(counter)
    }
    for (const name of this.#listeners.keys()) {
      if (!parts.entryPoint.has(name)) this.unlisten(name)
    }
    this.#logsSet = logsPerSecondPerNode
    this.#setLogCapacity()
    if (hasCertificates(change)) {
      const usable = [...parts.certificate.values()].filter(({ isUsable }) => isUsable)
      this.#contexts.setTable(certificateTable(usable.map(({ value }) => value)))
    }
  }

  #routeOf({ name, service, isDraining }: RouterPart): Route {
    const upstreams = this.#upstreams.get(service)
    // The change was checked: a router without its service was refused.
    if (upstreams === undefined) throw new Error(`router ${name} has no service`)
    const counter = this.#counters.of(name, service)
    return { router: name, service, upstreams, counter, isDraining }
  }

  #setLogCapacity(): void {
    this.#engine.sampler.capacity = Math.max(this.#logsSet, this.#logsRaised)
  }
}

function hasCertificates({ removed, come }: ConfigurationChange): boolean {
  return (
    removed.some(({ kind }) => kind === ResourceKind.CERTIFICATE) ||
    come.some(({ kind }) => kind === 'certificate')
  )
}
