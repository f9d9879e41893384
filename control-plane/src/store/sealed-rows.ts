/** All rows of sluice.db that hold what a vault sealed. Whoever seals into another table adds it here. */
import type { Database } from './database.ts'
import { sealContexts } from './seal-contexts.ts'

/** The same value sealed anew; undefined: it is as it should be. */
export type Reseal = (sealed: Uint8Array, context: string) => Uint8Array | undefined

/** In one transaction: all rows or none. Tells how many were sealed anew. */
export function resealRows(db: Database, reseal: Reseal): Promise<number> {
  return db.transaction().execute(async (tx) => {
    const counts = [
      await resealAuthority(tx, reseal),
      await resealPrivateKeys(tx, reseal),
      await resealSecondFactors(tx, reseal),
      await resealAnswers(tx, reseal),
    ]
    return counts.reduce((sum, count) => sum + count, 0)
  })
}

async function resealAuthority(tx: Database, reseal: Reseal): Promise<number> {
  const row = await tx.selectFrom('authority').select('sealed_key').executeTakeFirst()
  const sealed_key = row && reseal(row.sealed_key, sealContexts.authority)
  if (sealed_key === undefined) return 0
  await tx.updateTable('authority').set({ sealed_key }).execute()
  return 1
}

async function resealPrivateKeys(tx: Database, reseal: Reseal): Promise<number> {
  let count = 0
  const rows = await tx.selectFrom('private_key').select(['public_key_id', 'sealed']).execute()
  for (const { public_key_id: id, sealed: before } of rows) {
    const sealed = reseal(before, sealContexts.privateKey(id))
    if (sealed === undefined) continue
    await tx.updateTable('private_key').set({ sealed }).where('public_key_id', '=', id).execute()
    count += 1
  }
  return count
}

async function resealSecondFactors(tx: Database, reseal: Reseal): Promise<number> {
  let count = 0
  const rows = await tx.selectFrom('second_factor').select(['user', 'sealed']).execute()
  for (const { user, sealed: before } of rows) {
    const sealed = reseal(before, sealContexts.secondFactor(user))
    if (sealed === undefined) continue
    await tx.updateTable('second_factor').set({ sealed }).where('user', '=', user).execute()
    count += 1
  }
  return count
}

async function resealAnswers(tx: Database, reseal: Reseal): Promise<number> {
  let count = 0
  const rows = await tx.selectFrom('idempotency_key').select(['key', 'body']).execute()
  for (const { key, body: before } of rows) {
    if (before === null) continue
    const sealed = reseal(Buffer.from(before, 'base64'), sealContexts.answer(key))
    if (sealed === undefined) continue
    const body = Buffer.from(sealed).toString('base64')
    await tx.updateTable('idempotency_key').set({ body }).where('key', '=', key).execute()
    count += 1
  }
  return count
}
