/** The few calls to the admin API that a start needs. */
import { readFileSync } from 'node:fs'
import { UpFailure } from './options.mjs'

const requestTimeoutMs = 5_000

export class Admin {
  #base
  #token

  constructor(address, tokenFile) {
    this.#base = `http://${address}/api/v1/`
    this.#token = readFileSync(tokenFile, 'utf8').trim()
  }

  async isEmpty() {
    const { version } = await this.#call('GET', 'status')
    return version === 0
  }

  async entryPoints() {
    return (await this.#call('GET', 'entry-points')).items
  }

  async hasRouter(name) {
    const { items } = await this.#call('GET', 'routers?limit=1000')
    return items.some((router) => router.name === name)
  }

  async nodes() {
    return (await this.#call('GET', 'nodes')).items
  }

  async createJoinToken() {
    const token = await this.#call('POST', 'join-tokens', { expiresInSeconds: 600, uses: 1 })
    return token.token
  }

  async #call(method, path, body) {
    const answer = await this.#fetch(method, path, body)
    const content = await answer.json()
    if (!answer.ok) {
      throw new UpFailure(
        `${method} ${path}: the control plane answered ${answer.status}: ${content.detail ?? content.title}`,
      )
    }
    return content
  }

  async #fetch(method, path, body) {
    try {
      return await fetch(new URL(path, this.#base), {
        method,
        headers: {
          authorization: `Bearer ${this.#token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.timeout(requestTimeoutMs),
      })
    } catch (error) {
      const reason = error.cause?.message ?? error.message
      throw new UpFailure(`${method} ${path}: the control plane does not answer: ${reason}`)
    }
  }
}
