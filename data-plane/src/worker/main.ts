/** The worker process: messages from the supervisor in, reports out. Ends with its supervisor. */
import type { SupervisorMessage, WorkerMessage } from '../worker-protocol.ts'
import { SystemLookup } from './names/name-lookup.ts'
import type { StreamHandle } from './transport/stream-internals.ts'
import { Worker } from './worker.ts'

/** When the supervisor is gone nobody reads reports, so what runs gets this long and no more. */
const ORPHAN_GRACE_MS = 10_000

/** Calls `done` when the channel has taken the message and all before it, or is gone. */
function send(message: WorkerMessage, done: () => void = () => {}): void {
  if (process.send === undefined || !process.connected) done()
  else process.send(message, undefined, undefined, done)
}

const dnsServers = (process.env.SLUICE_DNS_SERVER ?? '').split(',').filter((one) => one !== '')
const worker = new Worker((message) => send(message), new SystemLookup({ dnsServers }))

function take(message: SupervisorMessage, handle: StreamHandle | undefined): void {
  switch (message.kind) {
    case 'configure':
      worker.configure(message)
      return
    case 'listen':
      if (handle !== undefined) worker.listen(message.entryPoint, handle)
      return
    case 'listenMore':
      if (handle !== undefined) worker.listenMore(message.entryPoint, handle)
      return
    case 'ticketKeys':
      worker.setTicketKeys(message.keys)
      return
    case 'logRaise':
      worker.raiseLogs(message.linesPerSecond)
      return
    case 'unlisten':
      worker.unlisten(message.entryPoint)
      return
    case 'drain':
      worker.drain(message.graceMs).then(exit, fail)
      return
  }
}

function exit(): void {
  send({ kind: 'drained' }, () => process.exit(0))
}

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(1)
}

process.on('message', take)
process.on('disconnect', () => {
  worker.drain(ORPHAN_GRACE_MS).then(exit, fail)
})
// The supervisor decides when a worker ends; a terminal sends its signals to the whole group.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('SIGHUP', () => {})

worker.start()
