/** Whether who answers on a peer's ports is that peer, alone, on its CPUs. What is wrong, in words. */
import { readlinkSync } from 'node:fs'
import { isHeldBy, listenersOn } from '../machine/listeners.ts'
import { strayTasks } from '../machine/process-tree.ts'
import type { PeerSetting } from './peer.ts'

export function witnessPeer(
  name: string,
  { port, tlsPort, processors }: PeerSetting,
  { pids, executable }: { readonly pids: readonly number[]; readonly executable: string },
): string[] {
  const [leader] = pids
  if (leader === undefined) return [`${name} has no process`]
  const runs = executableOf(leader)
  return [
    ...(runs === executable ? [] : [`${name}: process ${leader} runs ${runs}, not ${executable}`]),
    ...witnessPort(name, port, pids),
    ...witnessPort(name, tlsPort, pids),
    ...strayTasks(pids, processors).map((stray) => `${name}: ${stray}`),
  ]
}

function executableOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/exe`)
  } catch (error) {
    // It has ended, or belongs to someone whose processes may not be looked at.
    return (error as NodeJS.ErrnoException).code ?? 'nothing'
  }
}

function witnessPort(name: string, port: number, pids: readonly number[]): string[] {
  const inodes = listenersOn(port)
  if (inodes.length === 0) return [`${name}: nobody listens on port ${port}`]
  const wrong: string[] = []
  if (inodes.length > 1) wrong.push(`${name}: ${inodes.length} sockets listen on port ${port}`)
  const foreign = inodes.filter((inode) => !isHeldBy(inode, pids))
  if (foreign.length > 0) {
    wrong.push(`${name}: port ${port} belongs to a process that is not of its tree`)
  }
  return wrong
}
