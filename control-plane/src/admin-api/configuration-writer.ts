/** What the write routes share: one change, published in the admin's name, and its number in the answer. */
import type { FastifyReply } from 'fastify'
import { describe, type Kind } from '../model/kinds.ts'
import { type Change, documentId } from '../publishing/changes.ts'
import type { Publication, Publisher } from '../publishing/publisher.ts'

/** There is one token, so there is one name. */
const author = 'admin'

export class ConfigurationWriter {
  readonly #publisher: Publisher

  constructor(publisher: Publisher) {
    this.#publisher = publisher
  }

  write(reply: FastifyReply, change: Change): Promise<Publication> {
    return this.writeAll(reply, [change], messageOf(change))
  }

  async writeAll(
    reply: FastifyReply,
    changes: readonly Change[],
    message: string,
  ): Promise<Publication> {
    const publication = await this.#publisher.publish({ author, message, changes })
    reply.header('sluice-version', publication.version)
    return publication
  }
}

const verbs = { create: 'create', replace: 'replace', put: 'set', patch: 'patch', remove: 'delete' }

function messageOf(change: Change): string {
  const id: { kind: Kind; name: string } =
    change.op === 'patch' || change.op === 'remove' ? change : documentId(change.document)
  return `${verbs[change.op]} ${describe(id.kind, id.name)}`
}
