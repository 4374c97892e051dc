import type { LedgerDb, PricesTable } from './tables.ts'

/** Throws when the model has this version already: a price that was charged is never edited. */
export async function insertPrice(db: LedgerDb, price: PricesTable): Promise<void> {
  await db.insertInto('prices').values(price).execute()
}

/** The terms of the version that a receipt names. */
export async function findPriceTerms(db: LedgerDb, model: string, version: number): Promise<string | undefined> {
  const price = await db
    .selectFrom('prices')
    .select('terms')
    .where('model', '=', model)
    .where('version', '=', version)
    .executeTakeFirst()
  return price?.terms
}

/** The newest version of every model that ever had a price. */
export const listNewestPrices = (db: LedgerDb): Promise<PricesTable[]> =>
  db
    .selectFrom('prices')
    .selectAll()
    .where('version', '=', (eb) =>
      eb
        .selectFrom('prices as other')
        .select((other) => other.fn.max('other.version').as('version'))
        .whereRef('other.model', '=', 'prices.model'),
    )
    .orderBy('model')
    .execute()
