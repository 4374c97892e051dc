import type { LedgerDb } from './tables.ts'

/** What the database remembers about itself, by name. */
export async function findMeta(db: LedgerDb, name: string): Promise<string | undefined> {
  const row = await db.selectFrom('meta').select('value').where('name', '=', name).executeTakeFirst()
  return row?.value
}

export async function setMeta(db: LedgerDb, name: string, value: string): Promise<void> {
  await db
    .insertInto('meta')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}
