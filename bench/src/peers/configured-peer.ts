/**
 * A peer whose configuration is a template of bench/peers/, filled with a PeerSetting and nothing else. Start:
 * its ports are free, the program runs pinned, it answers requests, its listeners and its tasks are its own.
 */
import { mkdir, open, readFile, realpath, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { listenersOn } from '../machine/listeners.ts'
import type { Found, Peer, PeerSetting, RunningPeer } from './peer.ts'
import { PinnedProcess } from './pinned-process.ts'
import { CONFIGURATIONS } from './places.ts'
import { isAnswering } from './ready.ts'
import { fillTemplate, type TemplateValues } from './template.ts'
import { witnessPeer } from './witness.ts'

export interface PeerDefinition {
  readonly name: string
  readonly title: string
  /** In bench/peers/, by their path from there; the first is the configuration. They are filled into the folder. */
  readonly templates: readonly [string, ...string[]]
  /** Shown in reports beside the templates, by the same kind of path. */
  readonly sources?: readonly string[]
  readonly find: () => Promise<Found>
  readonly command: (binary: string, folder: string) => PeerCommand
  /** Values that its templates want beside the common ones. */
  readonly values?: (setting: PeerSetting) => TemplateValues
  /** Files that it wants in its folder beside its configuration. */
  readonly prepare?: (setting: PeerSetting) => Promise<void>
  /** It logs to its standard output, which is then the log file. */
  readonly logsToOutput?: boolean
  /** Of its tree, leader first; absent: the whole tree. */
  readonly requestProcesses?: (tree: readonly number[]) => readonly number[]
}

export interface PeerCommand {
  readonly args: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

export function configuredPeer(definition: PeerDefinition): Peer {
  const [configuration, ...others] = definition.templates
  const inRepository = (path: string) => join(CONFIGURATIONS, path)
  return {
    name: definition.name,
    title: definition.title,
    configurationFile: inRepository(configuration),
    otherFiles: [...others, ...(definition.sources ?? [])].map(inRepository),
    find: definition.find,
    start: (setting) => start(definition, setting),
  }
}

async function start(definition: PeerDefinition, setting: PeerSetting): Promise<RunningPeer> {
  const found = await definition.find()
  if (found.kind === 'missing')
    throw new Error(`${definition.name} is not installed: ${found.reason}`)
  requireFreePorts(definition.name, setting)
  await mkdir(setting.folder, { recursive: true })
  await definition.prepare?.(setting)
  for (const template of definition.templates) await fill(definition, template, setting)
  const log = definition.logsToOutput === true ? setting.accessLogFile : undefined
  const output = log === undefined ? undefined : await open(log, 'a')
  const program = new PinnedProcess({
    name: definition.name,
    command: found.binary,
    folder: setting.folder,
    processors: setting.processors,
    ...(output === undefined ? {} : { outputDescriptor: output.fd }),
    ...definition.command(found.binary, setting.folder),
  })
  await output?.close()
  return settle(definition.name, setting, program, definition.requestProcesses)
}

/** Waits until it answers and is what it should be; stops it otherwise. */
export async function settle(
  name: string,
  setting: PeerSetting,
  program: PinnedProcess,
  requestProcesses: (tree: readonly number[]) => readonly number[] = (tree) => tree,
  beside: () => Promise<void> = async () => undefined,
): Promise<RunningPeer> {
  const stop = async () => {
    await program.stop()
    await beside()
    requireFreePorts(name, setting)
  }
  const peer: RunningPeer = {
    name,
    setting,
    processes: () => program.processes(),
    requestProcesses: () => requestProcesses(program.processes()),
    witness: async () =>
      witnessPeer(name, setting, {
        pids: program.processes(),
        executable: await realpath(program.command),
      }),
    stop,
  }
  try {
    await program.until('it answers no request', () => isAnswering(setting))
    const wrong = await peer.witness()
    if (wrong.length > 0) throw new Error(wrong.join('; '))
    return peer
  } catch (error) {
    await program.stop()
    await beside()
    throw error
  }
}

/** What a peer of a former turn left would be measured instead. */
export function requireFreePorts(name: string, { port, tlsPort }: PeerSetting): void {
  for (const one of [port, tlsPort]) {
    if (listenersOn(one).length > 0) throw new Error(`${name}: port ${one} is taken`)
  }
}

async function fill(
  { name, values }: PeerDefinition,
  template: string,
  setting: PeerSetting,
): Promise<void> {
  const text = await readFile(join(CONFIGURATIONS, template), 'utf8')
  const filled = fillTemplate(text, { ...commonValues(setting), ...values?.(setting) })
  const file = basename(template, '.template')
  await writeFile(join(setting.folder, file), filled).catch((cause: unknown) => {
    throw new Error(`${name}: cannot write ${file}`, { cause })
  })
}

function commonValues(setting: PeerSetting): TemplateValues {
  return {
    folder: setting.folder,
    port: String(setting.port),
    tlsPort: String(setting.tlsPort),
    origin: setting.origins,
    host: setting.hosts,
    certificate: setting.certificateFile,
    key: setting.keyFile,
    log: setting.accessLogFile,
    tuned: setting.isStock === true ? '' : 'yes',
  }
}
