/** Small helpers around other programs. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The output of a short command, both streams, or undefined when there is no such program. */
export async function outputOf(
  command: string,
  args: readonly string[],
): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await run(command, args)
    return `${stdout}${stderr}`
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout?: string; stderr?: string }
    // A text is why it could not start; a number is its exit code, and that of `wrk -v` is 1.
    return typeof code === 'string' ? undefined : `${stdout ?? ''}${stderr ?? ''}`
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
