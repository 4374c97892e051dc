import type { Kysely } from 'kysely'
import { isAlreadyThere } from '../db/sql-store.ts'
import type { LedgerDb, LedgerTables, PricesTable } from '../db/tables.ts'
import type { NanoUsd, PicoPerToken } from '../model/money.ts'
import type { Multipliers, Price, PriceList, TokenPrices } from '../model/price.ts'

interface PriceServices {
  readonly db: Kysely<LedgerTables>
  readonly now: () => number
}

/**
 * Gives every model's price its version: the newest recorded one if nothing changed, else the next. Prices are only added,
 * so every receipt can be explained.
 */
export const recordPrices = (
  { db, now }: PriceServices,
  prices: ReadonlyMap<string, PriceList>,
): Promise<Map<string, number>> => recordAsOf(db, now(), prices)

/**
 * Records prices that take effect at a moment to come, so that the requests of that moment find them. Until then the versions before
 * them count.
 */
export const recordAnnounced = (
  db: Kysely<LedgerTables>,
  at: number,
  prices: ReadonlyMap<string, PriceList>,
): Promise<Map<string, number>> => recordAsOf(db, at, prices)

async function recordAsOf(
  db: Kysely<LedgerTables>,
  at: number,
  prices: ReadonlyMap<string, PriceList>,
): Promise<Map<string, number>> {
  for (;;) {
    try {
      return await recordOnce(db, at, prices)
    } catch (error) {
      // Another node has recorded a version of this price in the same moment: it is looked at again.
      if (!isAlreadyThere(error)) throw error
    }
  }
}

async function recordOnce(
  db: Kysely<LedgerTables>,
  at: number,
  prices: ReadonlyMap<string, PriceList>,
): Promise<Map<string, number>> {
  const newest = new Map((await listNewestPrices(db)).map((row) => [row.model, row]))
  const versions = new Map<string, number>()
  for (const [model, terms] of prices) {
    const written = writeTerms(terms)
    const last = newest.get(model)
    // The newest one may be announced for a later moment. With the same terms it is this one: another node may have recorded it by a
    // clock that is ahead.
    const isLater = last !== undefined && last.since > at && last.terms !== written
    const known = isLater ? await findPriceAt(db, model, at) : last
    const version = known?.terms === written ? known.version : (last?.version ?? 0) + 1
    if (version !== known?.version) await insertPrice(db, { model, version, terms: written, since: at })
    versions.set(model, version)
  }
  return versions
}

/** The newest version that has taken effect by a moment. */
const findPriceAt = (db: LedgerDb, model: string, at: number): Promise<PricesTable | undefined> =>
  db
    .selectFrom('prices')
    .selectAll()
    .where('model', '=', model)
    .where('since', '<=', at)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst()

export async function loadPrice(db: Kysely<LedgerTables>, model: string, version: number): Promise<Price> {
  const terms = await findPriceTerms(db, model, version)
  if (terms === undefined) throw new Error(`Price version ${version} of model ${model} is not in the ledger`)
  return priceFrom(version, terms)
}

export const priceFrom = (version: number, terms: string): Price => ({ version, ...readTerms(terms) })

// Exact decimal strings of pico- and nano-dollars in a fixed order, so that equal prices are equal texts.
interface WrittenTokenPrices {
  readonly input: string
  readonly cached_input: string
  readonly cache_write: string
  readonly output: string
}
interface WrittenTerms extends WrittenTokenPrices {
  readonly per_request: string
  readonly multipliers?: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly tiers: readonly (WrittenTokenPrices & { readonly above_input_tokens: number })[]
}

const writeTokenPrices = (prices: TokenPrices): WrittenTokenPrices => ({
  input: String(prices.input),
  cached_input: String(prices.cachedInput),
  cache_write: String(prices.cacheWrite),
  output: String(prices.output),
})

function writeTerms(terms: PriceList): string {
  const written: WrittenTerms = {
    ...writeTokenPrices(terms),
    per_request: String(terms.perRequest),
    tiers: terms.tiers.map((tier) => ({ above_input_tokens: tier.aboveInputTokens, ...writeTokenPrices(tier) })),
    ...(terms.multipliers && { multipliers: mapFactors(terms.multipliers, String) }),
  }
  return JSON.stringify(written)
}

const readTokenPrices = (prices: WrittenTokenPrices): TokenPrices => ({
  input: BigInt(prices.input) as PicoPerToken,
  cachedInput: BigInt(prices.cached_input) as PicoPerToken,
  cacheWrite: BigInt(prices.cache_write) as PicoPerToken,
  output: BigInt(prices.output) as PicoPerToken,
})

function readTerms(text: string): PriceList {
  const written = JSON.parse(text) as WrittenTerms
  return {
    ...readTokenPrices(written),
    perRequest: BigInt(written.per_request) as NanoUsd,
    tiers: written.tiers.map((tier) => ({ aboveInputTokens: tier.above_input_tokens, ...readTokenPrices(tier) })),
    ...(written.multipliers && { multipliers: mapFactors(written.multipliers, BigInt) as Multipliers }),
  }
}

const mapFactors = <From, To>(
  multipliers: Readonly<Partial<Record<string, Readonly<Record<string, From>>>>>,
  map: (factor: From) => To,
): Record<string, Record<string, To>> =>
  Object.fromEntries(
    Object.entries(multipliers).map(([field, factors = {}]) => [
      field,
      Object.fromEntries(Object.entries(factors).map(([value, factor]) => [value, map(factor)])),
    ]),
  )

/** Throws if the model has this version: a charged price is never edited. */
export async function insertPrice(db: LedgerDb, price: PricesTable): Promise<void> {
  await db.insertInto('prices').values(price).execute()
}

export async function findPriceTerms(db: LedgerDb, model: string, version: number): Promise<string | undefined> {
  const price = await db
    .selectFrom('prices')
    .select('terms')
    .where('model', '=', model)
    .where('version', '=', version)
    .executeTakeFirst()
  return price?.terms
}

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
