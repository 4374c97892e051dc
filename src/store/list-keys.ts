import { type RawBuilder, sql } from 'kysely'
import type { StoredKey } from './keys.ts'
import type { LedgerDb } from './tables.ts'

interface PageOfKeys {
  /** The next page ends before the row of this one's last key. */
  readonly before: number
  readonly limit: number
}

/** The names of its models alone may be 100 kB of a key: the thread of the books turns to others after so few of them. */
export const KEYS_AT_ONCE = 16

export interface KeyWithOwner extends StoredKey {
  owner_id: string
  owner_email: string
}

/** Whole, of an account or of all: newest first, revoked ones included. */
export async function listWholeKeys(
  db: LedgerDb,
  account: number | undefined,
  { before, limit }: PageOfKeys,
): Promise<KeyWithOwner[]> {
  const found: KeyWithOwner[] = []
  for (let behind = before; found.length < limit; behind = found.at(-1)!.row) {
    const wanted = Math.min(KEYS_AT_ONCE, limit - found.length)
    const slice = await wholeKeys(db, account, { before: behind, limit: wanted })
    found.push(...slice)
    if (slice.length < wanted) break
  }
  return found
}

const wholeKeys = (db: LedgerDb, account: number | undefined, { before, limit }: PageOfKeys): Promise<KeyWithOwner[]> =>
  db
    .selectFrom('keys')
    .selectAll('keys')
    .select(({ selectFrom }) => {
      const owner = selectFrom('accounts').whereRef('accounts.row', '=', 'keys.account')
      return [
        owner.select('accounts.id').$asScalar().$notNull().as('owner_id'),
        owner.select('accounts.email').$asScalar().$notNull().as('owner_email'),
      ]
    })
    .$if(account !== undefined, (query) => query.where('keys.account', '=', account!))
    .where('keys.row', '<', before)
    .orderBy('keys.row', 'desc')
    .limit(limit)
    .execute()

const TOLD = [
  ...(['row', 'id', 'name', 'kind', 'shown', 'playground', 'limits', 'cap_day_nano', 'cap_month_nano'] as const),
  ...(['created_at', 'expires_at', 'disabled_at', 'revoked_at', 'former_shown', 'former_until'] as const),
] satisfies (keyof StoredKey)[]

/** A list of models may be five hundred long, and a page has two hundred keys. */
const MODELS_TOLD = 10

/** What a list tells of a key: of its models how many there are, and the first of them. */
export interface ToldKey extends Pick<StoredKey, (typeof TOLD)[number]> {
  /** Null where it names none. */
  models_count: number | null
  /** A JSON array, filled up with nulls. */
  models_first: string | null
}

/** Both are read of one parse; to go through an array value by value takes ten times as long. */
const TOLD_COLUMNS = sql`${sql.join(TOLD.map((column) => sql.ref(`keys.${column}`)))},
  json_array_length(keys.models) AS models_count,
  json_extract(keys.models, ${sql.join(Array.from({ length: MODELS_TOLD }, (_, index) => sql.lit(`$[${index}]`)))}) AS models_first`

interface SearchOfKeys extends PageOfKeys {
  /** In lower case, each once. */
  readonly words: readonly string[]
}

/**
 * The keys of an account with every word in what is told of them, all where there is no word: newest first, revoked ones
 * included.
 */
export async function listToldKeys(
  db: LedgerDb,
  account: number,
  { before, limit, words }: SearchOfKeys,
): Promise<ToldKey[]> {
  const found: ToldKey[] = []
  for (let behind = before; found.length < limit; ) {
    const slice = sql`FROM keys WHERE account = ${account} AND row < ${behind} ORDER BY row DESC LIMIT ${KEYS_AT_ONCE}`
    const { rows } = await (words.length === 0 ? allOf(slice) : thoseWith(words, slice)).execute(db)
    found.push(...rows.filter((looked) => looked.row !== null))
    if (rows.length < KEYS_AT_ONCE) break
    behind = rows.at(-1)!.looked_at
  }
  return found.slice(0, limit)
}

/** A key as a list tells of it, or nothing of it but its row where the words are not in it. */
type LookedAt = { looked_at: number } & (ToldKey | { row: null })

const allOf = (slice: RawBuilder<unknown>) => sql<LookedAt>`SELECT row AS looked_at, ${TOLD_COLUMNS} ${slice}`

/** The text of a key is made once, not once for each word: its name, what is shown of its secret, and every model. */
function thoseWith(words: readonly string[], slice: RawBuilder<unknown>) {
  const hasAll = sql.join(
    words.map((word) => sql`instr(looked.text, ${word}) > 0`),
    sql` AND `,
  )
  return sql<LookedAt>`WITH looked AS MATERIALIZED (
      SELECT row, lower(name || ' ' || iif(playground, '', shown) || ' ' || coalesce(models, '')) AS text ${slice})
    SELECT looked.row AS looked_at, ${TOLD_COLUMNS} FROM looked LEFT JOIN keys ON keys.row = looked.row AND ${hasAll}
    ORDER BY looked_at DESC`
}
