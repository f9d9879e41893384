/** Tries whether addresses can be listened on, before anything is started. */
import { createServer } from 'node:net'
import { UpFailure } from './options.mjs'

/** @param {{ address: string, purpose: string }[]} places */
export async function requireFree(places) {
  const taken = []
  for (const { address, purpose } of places) {
    const code = await tryListen(address)
    if (code === 'EADDRINUSE') taken.push(`${address} (${purpose})`)
    else if (code !== undefined)
      throw new UpFailure(`cannot listen on ${address} (${purpose}): ${code}`)
  }
  if (taken.length > 0) {
    const verb = taken.length === 1 ? 'is' : 'are'
    throw new UpFailure(
      `${taken.join(', ')} ${verb} taken by another program; stop it, or move with -- --port-offset N`,
    )
  }
}

/** The error's code when it does not work. */
function tryListen(address) {
  const at = address.lastIndexOf(':')
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error) => resolve(error.code ?? error.message))
    server.listen(
      { host: address.slice(0, at), port: Number(address.slice(at + 1)), exclusive: true },
      () => server.close(() => resolve(undefined)),
    )
  })
}
