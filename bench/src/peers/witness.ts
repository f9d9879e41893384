/** Whether who answers on a peer's ports is that peer, alone, on its CPUs. What is wrong, in words. */
import { isHeldBy, listenersOn } from '../machine/listeners.ts'
import { strayTasks } from '../machine/process-tree.ts'
import type { PeerSetting } from './peer.ts'

export function witnessPeer(
  name: string,
  { port, tlsPort, processors }: PeerSetting,
  pids: readonly number[],
): string[] {
  if (pids.length === 0) return [`${name} has no process`]
  return [
    ...witnessPort(name, port, pids),
    ...witnessPort(name, tlsPort, pids),
    ...strayTasks(pids, processors).map((stray) => `${name}: ${stray}`),
  ]
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
