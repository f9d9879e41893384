/** The composition root: makes every part, hands it what it needs, and ends it in the opposite order. */
import type { Logger } from 'pino'
import { AdminServer } from './admin-api/admin-server.ts'
import type { AdminApiOptions } from './admin-api/parts.ts'
import { type AdminTls, openAdminTls } from './admin-tls.ts'
import { CertificateAuthority } from './certificates/authority.ts'
import { DataDirectory } from './data-directory.ts'
import { explain, StartError } from './errors.ts'
import { FleetServer } from './fleet/fleet-server.ts'
import { HistoryGuard } from './fleet/history-guard.ts'
import { JoinTokens } from './fleet/join-tokens.ts'
import { LogRaises } from './fleet/log-raises.ts'
import { NodeRegistry } from './fleet/node-registry.ts'
import { StageWatch } from './fleet/stage-watch.ts'
import { MasterKey } from './master-key.ts'
import { DEFAULT_SETTINGS } from './model/configuration.ts'
import { AuditLog } from './people/audit-log.ts'
import { Passwords } from './people/passwords.ts'
import { SecondFactors } from './people/second-factors.ts'
import { Users } from './people/users.ts'
import { Drafts } from './publishing/drafts.ts'
import { PastVersions } from './publishing/past-versions.ts'
import { Publisher } from './publishing/publisher.ts'
import { VersionArchive } from './publishing/version-archive.ts'
import { VersionRetention } from './publishing/version-retention.ts'
import type { ListenAddress, Settings } from './settings.ts'
import {
  DamagedDatabaseError,
  type Database,
  openDatabase,
  openTelemetryDatabase,
} from './store/database.ts'
import { VaultError } from './store/vault.ts'
import { Telemetry } from './telemetry/telemetry.ts'

export interface ControlPlaneOptions {
  readonly settings: Settings
  readonly softwareVersion: string
  readonly log: Logger
  readonly now: () => number
}

interface Addresses {
  readonly adminAddress: string
  readonly fleetAddress: string
}

const restoreAdvice =
  'restore a backup into a new directory (sluice-control-plane restore --help); nodes serve on meanwhile'
const telemetryAdvice =
  'move it and its -wal and -shm files away to start without past counters and logs, or restore a backup'
const renewalIntervalMs = 3_600_000
const retentionIntervalMs = 600_000

export class ControlPlane {
  /** HOST:PORT, with the port that was bound. */
  readonly adminAddress: string
  readonly fleetAddress: string
  readonly #cleanups: Cleanups

  private constructor(addresses: Addresses, cleanups: Cleanups) {
    this.adminAddress = addresses.adminAddress
    this.fleetAddress = addresses.fleetAddress
    this.#cleanups = cleanups
  }

  /** Throws a StartError with one clear sentence when something outside is not as it must be. */
  static async start(options: ControlPlaneOptions): Promise<ControlPlane> {
    const cleanups = new Cleanups()
    try {
      return new ControlPlane(await start(options, cleanups), cleanups)
    } catch (error) {
      await cleanups.run()
      throw error
    }
  }

  stop(): Promise<void> {
    return this.#cleanups.run()
  }
}

async function start(options: ControlPlaneOptions, cleanups: Cleanups): Promise<Addresses> {
  const { settings, softwareVersion, log, now } = options
  const directory = await DataDirectory.claim(settings.dataDir)
  cleanups.add(() => directory.release())
  const adminToken = await directory.adminToken()
  const masterKey = await MasterKey.open(settings, directory.file('master-key'))
  const { vault } = masterKey
  const { db, telemetryDb } = await openDatabases(directory, cleanups)
  await unsealed(() => masterKey.finish(db))

  const authority = await unsealed(() => CertificateAuthority.open({ db, vault, now }))
  await directory.writeAuthority(authority.caPem)
  const publisher = await unsealed(() => Publisher.open({ db, vault, authority, now }))
  publisher.onPublished(({ number, hash }) =>
    log.info({ version: Number(number), hash }, 'published'),
  )
  cleanups.add(renewCertificates(publisher, log))
  const bounds = () => publisher.state.configuration.settings?.versions ?? DEFAULT_SETTINGS.versions
  const retention = new VersionRetention({ db, bounds, now })
  cleanups.add(removeVersions(retention, log))
  const nodes = new NodeRegistry({ db, versions: publisher, now })
  const history = await HistoryGuard.open({ db, past: new PastVersions(db), log })
  const logRaises = new LogRaises(now)
  const joinTokens = new JoinTokens({ db, authority, now })
  const telemetry = await Telemetry.open({ db: telemetryDb, nodes, now, log })
  cleanups.add(() => telemetry.close())

  const fleet = new FleetServer({
    versions: publisher,
    registry: nodes,
    history,
    logRaises,
    tokens: joinTokens,
    authority,
    telemetry,
    serverNames: settings.fleetNames,
    now,
    log,
  })
  const fleetAddress = await listening('fleet server', settings.fleet, (address) =>
    fleet.start(address),
  )
  cleanups.add(() => fleet.stop())

  const stages = new StageWatch({ db, publisher, nodes, telemetry, now, log })
  cleanups.add(() => stages.stop())
  const drafts = new Drafts({ db, publisher, now })
  const users = await openUsers(db, now, log)
  const audit = new AuditLog({ db, daysMax: settings.auditDays, now })
  cleanups.add(removeAudit(audit, log))
  const parts = {
    db,
    rotateMasterKey: () => masterKey.rotate(db),
    vault,
    publisher,
    drafts,
    archive: new VersionArchive(db),
    nodes,
    history,
    stages,
    logRaises,
    joinTokens,
    telemetry,
    users,
    secondFactors: new SecondFactors({ db, vault, now }),
    audit,
    softwareVersion,
    now,
    log,
  }
  const tls = await openAdminTls(settings, { authority, log, now })
  const adminAddress = await startAdmin({ ...parts, adminToken }, tls, settings.admin, cleanups)
  return { adminAddress, fleetAddress }
}

async function startAdmin(
  parts: AdminApiOptions,
  tls: AdminTls | undefined,
  wanted: ListenAddress,
  cleanups: Cleanups,
): Promise<string> {
  const admin = await AdminServer.create(parts, tls?.identity)
  cleanups.add(() => admin.stop())
  if (tls !== undefined) cleanups.add(tls.watch((identity) => admin.replaceIdentity(identity)))
  return listening('admin API', wanted, async () => {
    const { address, port } = await admin.start(wanted)
    return formatAddress({ host: address, port })
  })
}

/** What has to be ended, last made first. One that fails does not keep the others from ending. */
class Cleanups {
  readonly #steps: (() => unknown)[] = []

  add(step: () => unknown): void {
    this.#steps.push(step)
  }

  async run(): Promise<void> {
    const failures: unknown[] = []
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0)
      throw new AggregateError(failures, 'the control plane did not end cleanly')
  }
}

async function openDatabases(directory: DataDirectory, cleanups: Cleanups) {
  const db = await opened(directory.file('sluice.db'), openDatabase, restoreAdvice)
  cleanups.add(() => db.destroy())
  const telemetryFile = directory.file('telemetry.db')
  const telemetryDb = await opened(telemetryFile, openTelemetryDatabase, telemetryAdvice)
  cleanups.add(() => telemetryDb.destroy())
  return { db, telemetryDb }
}

/** Resolves with the address that was bound. */
async function listening(
  what: string,
  wanted: ListenAddress,
  start: (address: string) => Promise<string>,
): Promise<string> {
  try {
    return await start(formatAddress(wanted))
  } catch (error) {
    throw explain(error, `the ${what} cannot listen on ${formatAddress(wanted)}`)
  }
}

async function openUsers(db: Database, now: () => number, log: Logger): Promise<Users> {
  const users = new Users({ db, passwords: new Passwords(), now })
  const isEmpty = (await users.list()).length === 0
  if (isEmpty) log.info('there is no user yet: sluice user add NAME --role admin')
  return users
}

async function opened<T>(
  file: string,
  open: (file: string) => Promise<T>,
  advice: string,
): Promise<T> {
  try {
    return await open(file)
  } catch (error) {
    if (!(error instanceof DamagedDatabaseError)) {
      throw explain(error, `the database ${file} cannot be opened`)
    }
    throw new StartError(`the database ${file} is damaged (${error.message}): ${advice}`)
  }
}

async function unsealed<T>(open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (error) {
    throw error instanceof VaultError
      ? explain(error, 'the master key does not fit the data')
      : error
  }
}

/** Works now and then from time to time. Returns the function that ends it. */
function repeat(
  work: () => Promise<void>,
  intervalMs: number,
  { log, failure }: { readonly log: Logger; readonly failure: string },
): () => void {
  const run = () => work().catch((error: unknown) => log.error({ err: error }, failure))
  void run()
  const timer = setInterval(run, intervalMs)
  timer.unref()
  return () => clearInterval(timer)
}

function renewCertificates(publisher: Publisher, log: Logger): () => void {
  const renew = async () => {
    const names = await publisher.renewInternalCertificates()
    if (names.length > 0) log.info({ certificates: names }, 'renewed internal certificates')
  }
  const failure = 'internal certificates were not renewed'
  return repeat(renew, renewalIntervalMs, { log, failure })
}

function removeVersions(retention: VersionRetention, log: Logger): () => void {
  const remove = async () => {
    const count = await retention.run()
    if (count > 0) log.info({ versions: count }, 'removed old versions')
  }
  return repeat(remove, retentionIntervalMs, { log, failure: 'old versions were not removed' })
}

function removeAudit(audit: AuditLog, log: Logger): () => void {
  const remove = async () => {
    const last = await audit.removeOld()
    if (last !== undefined) log.info({ upTo: last }, 'removed old rows of the audit log')
  }
  const failure = 'old rows of the audit log were not removed'
  return repeat(remove, retentionIntervalMs, { log, failure })
}

function formatAddress({ host, port }: ListenAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
