/** Replacing the key that seals secrets, while the control plane runs. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { AdminApiParts } from './parts.ts'
import { ApiError } from './problem-details.ts'
import { responses } from './schemas.ts'

const notOurs =
  'the master key comes from the environment or a command: start with a new one, and with the one before in SLUICE_MASTER_KEY_BEFORE'

const rotateMasterKey = {
  tags: ['status'],
  description:
    'Makes a new master key, seals every secret with it in one transaction, and puts it into the file of the one before.',
  response: responses(
    {
      200: Type.Object(
        {
          keyId: Type.String({ description: 'the first 4 bytes of the SHA-256 of the new key' }),
          previousKeyId: Type.String(),
          resealed: Type.Integer({ description: 'values that were sealed anew' }),
        },
        { title: 'Rotation' },
      ),
    },
    401,
    409,
  ),
}

export const masterKeyRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (
  app,
  { rotateMasterKey: rotate },
) => {
  app.post('/master-key/rotate', { schema: rotateMasterKey }, async (request) => {
    const rotation = await rotate()
    if (rotation === undefined) throw new ApiError(409, notOurs)
    request.auditNote = { object: rotation.keyId }
    return rotation
  })
}
