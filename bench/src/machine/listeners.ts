/** Who listens on a TCP port, by socket inode, and how long its queue of new connections may be. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** In /proc/net/tcp. */
const LISTENING = '0A'

/** Inodes of the sockets that listen on the port, on any address. */
export function listenersOn(port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[1]?.endsWith(suffix) === true && fields[3] === LISTENING)
      .map((fields) => fields[9] ?? ''),
  )
}

/** Whether one of the processes holds the socket. */
export function isHeldBy(inode: string, pids: readonly number[]): boolean {
  return pids.some((pid) => socketsOf(pid).has(inode))
}

function socketsOf(pid: number): Set<string> {
  const folder = `/proc/${pid}/fd`
  const inodes = new Set<string>()
  for (const name of namesIn(folder)) {
    try {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`${folder}/${name}`))?.[1]
      if (inode !== undefined) inodes.add(inode)
    } catch (error) {
      // Closed between the two calls.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  return inodes
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** The listener's bound, as the kernel took it; undefined: nobody listens there. */
export async function backlogOf(port: number): Promise<number | undefined> {
  const { stdout } = await run('ss', ['-Hltn', 'sport', '=', `:${port}`])
  const [, , sendQueue] = stdout.trim().split(/\s+/)
  return sendQueue === undefined ? undefined : Number(sendQueue)
}
