/** A proxy that can be measured: found or missing, started on one CPU with equal work, witnessed, stopped. */

export type Found =
  | {
      readonly kind: 'found'
      /** As the running binary says it. */
      readonly version: string
      readonly binary: string
      readonly sha256: string
      /** Build mode and source: a package's name and version, or "built here, release". */
      readonly origin: string
    }
  | { readonly kind: 'missing'; readonly reason: string }

/** Filled into a peer's configuration; nothing else is a knob. */
export interface PeerSetting {
  /** For configuration and logs of this start. */
  readonly folder: string
  readonly port: number
  readonly tlsPort: number
  /** Addresses of the origin, taken in turn. */
  readonly origins: readonly string[]
  readonly certificateFile: string
  readonly keyFile: string
  /** A file that gets a line for each request, in the peer's own stock format; absent: no log. */
  readonly accessLogFile?: string
  /** The proxy's CPUs, as taskset takes them. */
  readonly processors: string
  readonly hosts: readonly string[]
  /** Without what its template sets beyond the program's own defaults. */
  readonly isStock?: boolean
}

export interface PeerMemory {
  /** Pss_Anon over the process tree. */
  readonly privateBytes: number
}

export interface RunningPeer {
  readonly name: string
  readonly setting: PeerSetting
  /** All processes of its tree now. */
  processes(): readonly number[]
  /** Those that handle requests (ours: workers without the supervisor); for the others the whole tree. */
  requestProcesses(): readonly number[]
  /** What is wrong with who listens: not this tree, or more than one listener. Empty: all is well. */
  witness(): Promise<readonly string[]>
  stop(): Promise<void>
}

export interface Peer {
  /** As in `--proxies`: self, self-fleet, nginx, haproxy, caddy, caddy-pypi, envoy, traefik, pingora, aralez, rpxy. */
  readonly name: string
  readonly title: string
  /** Its configuration's source, embedded in reports. */
  readonly configurationFile: string
  /** What else of ours decides what it does, embedded as well: routes in a file of their own, a program. */
  readonly otherFiles: readonly string[]
  find(): Promise<Found>
  start(setting: PeerSetting): Promise<RunningPeer>
}
