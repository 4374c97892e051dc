import { type Insertable, type RawBuilder, sql } from 'kysely'
import { type CapAmounts, capsChange, capsOfNew, raiseEnd } from './caps.ts'
import { statementOf } from './record-changes.ts'
import { listRows, type PageBefore } from './sql.ts'
import { type AtomicStatement, changeOne, statement } from './sql-store.ts'
import type { LedgerDb, LedgerTables, Row } from './tables.ts'

export type StoredKey = Row<'keys'>

export type NewKey = Omit<Insertable<LedgerTables['keys']>, 'row' | 'disabled_at' | 'revoked_at'>

/**
 * Only while its account has fewer than `liveMax` keys that are not revoked. Playground keys do not count. A person who was
 * removed meanwhile gets none.
 */
export function keyInsert(
  db: LedgerDb,
  key: NewKey,
  { liveMax, needsNewName }: { readonly liveMax: number; readonly needsNewName: boolean },
): AtomicStatement {
  const columns = Object.keys(key) as (keyof NewKey)[]
  const row = columns.map((column) => sql.val(key[column]))
  const isRoom = sql<boolean>`(SELECT count(*) FROM keys WHERE account = ${key.account} AND revoked_at IS NULL
    AND playground = 0) < ${liveMax}`
  const isNew = needsNewName
    ? sql<boolean>`NOT EXISTS (SELECT 1 FROM keys WHERE account = ${key.account} AND revoked_at IS NULL
        AND playground = 0 AND name = ${key.name})`
    : sql<boolean>`TRUE`
  const isTheirs =
    key.person == null
      ? sql<boolean>`TRUE`
      : sql<boolean>`EXISTS (SELECT 1 FROM people WHERE row = ${key.person} AND disabled_at IS NULL)`
  const query = sql`INSERT INTO keys (${sql.join(columns.map((column) => sql.ref(column)))})
    SELECT ${sql.join(row)} WHERE ${isRoom} AND ${isNew} AND ${isTheirs}`
  return statementOf({ compile: () => query.compile(db) }, 1)
}

/**
 * A key with its account, and the plan of the account's newest subscription, running or ended: everything a caller is made
 * from.
 */
export type KeyWithAccount = NonNullable<Awaited<ReturnType<typeof findKeyByDigest>>>

const NEWEST_SUBSCRIPTION = sql<number>`
  (SELECT MAX(newest.row) FROM subscriptions AS newest WHERE newest.account = keys.account)`

const keysWithAccount = (db: LedgerDb) =>
  db
    .selectFrom('keys')
    .innerJoin('accounts', 'accounts.row', 'keys.account')
    .selectAll('keys')
    .leftJoin('subscriptions', (join) => join.on('subscriptions.row', '=', NEWEST_SUBSCRIPTION))
    .leftJoin('people', 'people.row', 'keys.person')
    .select(['accounts.id as account_id', 'accounts.status as account_status'])
    .select(['people.disabled_at as person_disabled_at', 'people.role as person_role'])
    .select(['subscriptions.plan', 'subscriptions.ends_at as plan_ends_at'])

/**
 * Finds a key by its digest, or the one before its last rotation. An index lookup takes the same time however much of a
 * digest was guessed right.
 */
export const findKeyByDigest = (db: LedgerDb, digest: Uint8Array) =>
  keysWithAccount(db)
    .where(({ eb, or }) => or([eb('keys.digest', '=', digest), eb('keys.former_digest', '=', digest)]))
    .executeTakeFirst()

/** For playground keys, whose secret does not exist. */
export const findKeyWithAccount = (db: LedgerDb, row: number) =>
  keysWithAccount(db).where('keys.row', '=', row).executeTakeFirst()

/** The `1` is a literal, because SQLite does not use a partial index for a parameter. */
export const findPlaygroundKey = (
  db: LedgerDb,
  { account, person, kind }: Pick<StoredKey, 'account' | 'person' | 'kind'>,
) =>
  keysWithAccount(db)
    .where(({ and }) => and({ 'keys.account': account, 'keys.kind': kind }))
    .where(sql<boolean>`coalesce(keys.person, 0) = ${person ?? 0}`)
    .where('keys.playground', '=', sql.lit(1))
    .where('keys.revoked_at', 'is', null)
    .executeTakeFirst()

/** With the caps that new keys get, in one commit. Of two concurrent inserts the second one changes nothing. */
export const playgroundKeyInsert = (db: LedgerDb, key: NewKey, { day, month, ...others }: CapAmounts) => [
  statementOf(
    db
      .insertInto('keys')
      .values({ ...key, cap_day_nano: day ?? null, cap_month_nano: month ?? null, playground: 1 })
      .onConflict((conflict) => conflict.doNothing()),
    1,
  ),
  ...capsOfNew('key', key.id, others),
]

export const findKeyById = (db: LedgerDb, id: string) =>
  db.selectFrom('keys').selectAll().where('id', '=', id).executeTakeFirst()

/** All that are not revoked, without those of the playground. `limits.keys_per_account` bounds them. */
export const listLiveKeys = (db: LedgerDb, account: number) =>
  db
    .selectFrom('keys')
    .selectAll()
    .where(({ and }) => and({ account, playground: 0 }))
    .where('revoked_at', 'is', null)
    .orderBy('row')
    .execute()

export const findKeyByRow = (db: LedgerDb, row: number) =>
  db.selectFrom('keys').selectAll().where('row', '=', row).executeTakeFirst()

export const listKeyNames = (db: LedgerDb, rows: readonly number[]) =>
  listRows(
    db,
    sql<{ row: number; id: string; name: string }>`SELECT keys.row AS row, keys.id AS id, keys.name AS name
      FROM json_each(${JSON.stringify(rows)}) AS list CROSS JOIN keys ON keys.row = CAST(list.value AS BIGINT)`,
  )

const OWNERS = { person: sql.raw('people'), team: sql.raw('teams') }
const OWNER_NAMES = { person: sql.raw('owner.email'), team: sql.raw('owner.name') }

/** The person or the team of each key that has one; people go by their email. */
export const listOwnersOfKeys = (db: LedgerDb, rows: readonly number[], of: 'person' | 'team') =>
  listRows(
    db,
    sql<{ row: number; id: string; name: string }>`SELECT keys.row AS row, owner.id AS id,
        ${OWNER_NAMES[of]} AS name
      FROM json_each(${JSON.stringify(rows)}) AS list CROSS JOIN keys ON keys.row = CAST(list.value AS BIGINT)
        JOIN ${OWNERS[of]} AS owner ON owner.row = ${sql.ref(`keys.${of}`)}`,
  )

/** People or teams by their rows. */
export const listOwnerNames = (db: LedgerDb, rows: readonly number[], of: 'person' | 'team') =>
  listRows(
    db,
    sql<{ row: number; id: string; name: string }>`SELECT owner.row AS row, owner.id AS id, ${OWNER_NAMES[of]} AS name
      FROM json_each(${JSON.stringify(rows)}) AS list CROSS JOIN ${OWNERS[of]} AS owner ON owner.row = CAST(list.value AS BIGINT)`,
  )

/** Whose the live keys of an account are, by their rows. */
export const listKeyOwners = (db: LedgerDb, account: number) =>
  db
    .selectFrom('keys')
    .leftJoin('people', 'people.row', 'keys.person')
    .leftJoin('teams', 'teams.row', 'keys.team')
    .select(['keys.row', 'people.id as person', 'people.email', 'teams.id as team'])
    .select(['teams.name as team_name', 'teams.archived_at as team_archived_at'])
    .where('keys.account', '=', account)
    .where('keys.revoked_at', 'is', null)
    .execute()

/** `disabled_at: null` enables a key again; a revocation is final. */
export interface KeyChange
  extends Partial<
    Pick<StoredKey, 'name' | 'models' | 'expires_at' | 'disabled_at' | 'addresses' | 'run' | 'step_down'>
  > {
  /** Entries of RateLimits: null removes a limit, and absent ones stay. */
  readonly limits?: Readonly<Record<string, number | null>>
  readonly caps?: CapAmounts
  readonly revoked_at?: number
}

/**
 * Only for a key that is not revoked. With `judged`, only if the changed columns still have its values: a concurrent change
 * wins.
 */
export function keyUpdate(
  db: LedgerDb,
  { row, account }: Pick<StoredKey, 'row' | 'account'>,
  { limits, caps = {}, ...columns }: KeyChange,
  judged?: StoredKey,
): AtomicStatement[] {
  const { day, month, ...others } = caps
  const set = {
    ...columns,
    ...(day !== undefined && { cap_day_nano: day }),
    ...(month !== undefined && { cap_month_nano: month }),
  }
  const judgedBy =
    judged === undefined ? [] : ([...Object.keys(set), ...(limits ? ['limits'] : [])] as (keyof StoredKey)[])
  const query = db
    .updateTable('keys')
    // At least one column, so that the update always finds out a revoked key.
    .set({ kind: sql.ref('kind'), ...set, ...(limits !== undefined && { limits: mergedLimits(limits) }) })
    .where('row', '=', row)
    .where('revoked_at', 'is', null)
    .where(({ and }) =>
      and(judgedBy.map((column) => sql<boolean>`${sql.ref(column)} IS NOT DISTINCT FROM ${judged?.[column]}`)),
    )
  const owner = { holder: 'key', row } as const
  return [
    statementOf(query, 1),
    ...capsChange(account, owner, others),
    ...(day === undefined ? [] : [raiseEnd(account, owner, 'day')]),
    ...(month === undefined ? [] : [raiseEnd(account, owner, 'month')]),
  ]
}

/** Merged by the database, so that concurrent changes do not undo each other. */
const mergedLimits = (limits: NonNullable<KeyChange['limits']>) =>
  sql<string | null>`nullif(json_patch(coalesce(limits, '{}'), ${JSON.stringify(limits)}), '{}')`

interface KeyRotation {
  readonly digest: Uint8Array
  readonly shown: string
  /** Until when the present secret goes on working; null: it ends at once. */
  readonly formerUntil: number | null
}

const ROTATE = `UPDATE keys SET digest = ?, shown = ?, former_digest = ?, former_shown = ?, former_until = ?
  WHERE row = ? AND digest = ? AND playground = 0 AND revoked_at IS NULL`

/** Only for a key that is not revoked and still has the known secret: a concurrent rotation wins. */
export function digestRotation(known: StoredKey, { digest, shown, formerUntil }: KeyRotation): AtomicStatement {
  const former = formerUntil === null ? [null, null] : [known.digest, known.shown]
  return changeOne(ROTATE, digest, shown, ...former, formerUntil, known.row, known.digest)
}

/** Without playground keys. */
export async function countKeys(db: LedgerDb, keys: KeysOf, now: number) {
  const isActive = sql`revoked_at IS NULL AND disabled_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})`
  const query = sql<{ total: number; active: number }>`
    SELECT COUNT(*) AS total, COUNT(*) FILTER (WHERE ${isActive}) AS active FROM keys
      WHERE ${isOf(keys)} AND playground = 0`
  return (await listRows(db, query))[0]!
}

/** The keys of an account; with a person or a team, only theirs. */
export interface KeysOf {
  readonly account: number
  readonly person?: number | undefined
  readonly team?: number | undefined
}

/** Read from the index of the person or the team, if there is one. */
function isOf({ account, person, team }: KeysOf) {
  if (person === undefined)
    return team === undefined ? sql`account = ${account}` : sql`team = ${team} AND +account = ${account}`
  return sql`person = ${person} AND +account = ${account} ${team === undefined ? sql`` : sql`AND +team = ${team}`}`
}

/** Keys of each of these people that are not revoked, without those of the playground. */
export async function countKeysOfPeople(db: LedgerDb, people: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const query = sql<{ person: number; keys: number }>`SELECT person, COUNT(*) AS keys FROM keys
    WHERE person IN (SELECT CAST(value AS BIGINT) FROM json_each(${JSON.stringify(people)}))
      AND revoked_at IS NULL AND playground = 0 GROUP BY person`
  return new Map((await listRows(db, query)).map(({ person, keys }) => [person, keys]))
}

/** Keys of a person that were used since then, the newest first: no request outlives its key by a day. */
export const listUsableKeys = (db: LedgerDb, of: KeysOf, { since, limit }: { since: number; limit: number }) =>
  listRows(
    db,
    sql<{ row: number; id: string }>`SELECT row, id FROM keys
      WHERE ${isOf(of)} AND (revoked_at IS NULL OR revoked_at > ${since - DAY_MS}) ORDER BY row DESC LIMIT ${limit}`,
  )

const DAY_MS = 86_400_000

/** Revokes all keys of a person. */
export const keysRevocation = (person: number, now: number): AtomicStatement =>
  statement('UPDATE keys SET revoked_at = ? WHERE person = ? AND revoked_at IS NULL', now, person)

/** Keys read in one query: the models of one key alone may take 100 kB. */
export const KEYS_AT_ONCE = 16
/** Keys looked at in one query of a search, which does not bring their models. */
export const SEARCHED_AT_ONCE = 64

/** All columns, of one account or of all, with the id and email of their owner; newest first, with revoked ones. */
export async function listWholeKeys(db: LedgerDb, account: number | undefined, { before, limit }: PageBefore) {
  const found: Awaited<ReturnType<typeof wholeKeys>> = []
  for (let behind = before; found.length < limit; behind = found.at(-1)!.row) {
    const wanted = Math.min(KEYS_AT_ONCE, limit - found.length)
    const slice = await wholeKeys(db, account, { before: behind, limit: wanted })
    found.push(...slice)
    if (slice.length < wanted) break
  }
  return found
}

const wholeKeys = (db: LedgerDb, account: number | undefined, { before, limit }: PageBefore) =>
  db
    .selectFrom('keys')
    .selectAll('keys')
    .select([
      sql<string>`(SELECT id FROM accounts WHERE accounts.row = keys.account)`.as('owner_id'),
      sql<string>`(SELECT email FROM accounts WHERE accounts.row = keys.account)`.as('owner_email'),
    ])
    .$if(account !== undefined, (query) => query.where('keys.account', '=', account!))
    .where('keys.row', '<', before)
    .orderBy('keys.row', 'desc')
    .limit(limit)
    .execute()

const SHOWN = [
  ...([
    'row',
    'account',
    'id',
    'name',
    'kind',
    'shown',
    'playground',
    'limits',
    'cap_day_nano',
    'cap_month_nano',
  ] as const),
  ...(['person', 'team', 'addresses', 'run', 'step_down'] as const),
  ...(['created_at', 'expires_at', 'disabled_at', 'revoked_at', 'former_shown', 'former_until'] as const),
] satisfies (keyof StoredKey)[]

/** A key may have 500 models, and a page has 200 keys. */
const MODELS_SHOWN = 10

/** A key in a list, with the number of its models and the first of them. */
export interface ShownKey extends Pick<StoredKey, (typeof SHOWN)[number]> {
  models_count: number | null
  /** A JSON array, padded with nulls. */
  models_first: string | null
}

/** Both are read from one parse; iterating over an array takes ten times as long. */
const SHOWN_COLUMNS = sql`${sql.join(SHOWN.map((column) => sql.ref(`keys.${column}`)))},
  json_array_length(keys.models) AS models_count,
  json_extract(keys.models, ${sql.join(Array.from({ length: MODELS_SHOWN }, (_, index) => sql.lit(`$[${index}]`)))}) AS models_first`

/**
 * The keys of an account whose name, shown secret or models contain every word; newest first, with revoked ones. The words
 * are in lower case, each once.
 */
export async function listShownKeys(
  db: LedgerDb,
  keys: KeysOf,
  { before, limit, words }: PageBefore & { readonly words: readonly string[] },
): Promise<ShownKey[]> {
  const found: ShownKey[] = []
  for (let behind: number | undefined = before; behind !== undefined && found.length < limit; ) {
    const slice = (atOnce: number) =>
      sql`FROM keys WHERE ${isOf(keys)} AND row < ${behind} ORDER BY row DESC LIMIT ${atOnce}`
    if (words.length === 0) {
      const rows = await listRows(db, sql<ShownKey>`SELECT ${SHOWN_COLUMNS} ${slice(KEYS_AT_ONCE)}`)
      found.push(...rows)
      behind = rows[KEYS_AT_ONCE - 1]?.row
    } else {
      const rows = await listRows(db, thoseWith(words, slice(SEARCHED_AT_ONCE)))
      found.push(...(await findShownKeys(db, rows, limit - found.length)))
      behind = rows[SEARCHED_AT_ONCE - 1]?.row
    }
  }
  return found.slice(0, limit)
}

interface SearchedKey {
  readonly row: number
  readonly has_all: 0 | 1
}

/** Builds the text of a key once, not once for each word. */
function thoseWith(words: readonly string[], slice: RawBuilder<unknown>) {
  const hasAll = sql.join(
    words.map((word) => sql`instr(looked.text, ${word}) > 0`),
    sql` AND `,
  )
  return sql<SearchedKey>`WITH looked AS MATERIALIZED (
      SELECT row, lower(name || ' ' || CASE playground WHEN 1 THEN '' ELSE shown END || ' ' || coalesce(models, '')) AS text ${slice})
    SELECT row, (${hasAll}) AS has_all FROM looked ORDER BY row DESC`
}

/** The first of those that have all words. */
async function findShownKeys(db: LedgerDb, searched: readonly SearchedKey[], limit: number): Promise<ShownKey[]> {
  const rows = searched.flatMap(({ row, has_all }) => (has_all === 1 ? [row] : [])).slice(0, limit)
  const found: ShownKey[] = []
  for (let from = 0; from < rows.length; from += KEYS_AT_ONCE) {
    const list = JSON.stringify(rows.slice(from, from + KEYS_AT_ONCE))
    const query = sql<ShownKey>`SELECT ${SHOWN_COLUMNS} FROM json_each(${list}) AS list
      CROSS JOIN keys ON keys.row = CAST(list.value AS BIGINT) ORDER BY keys.row DESC`
    found.push(...(await listRows(db, query)))
  }
  return found
}
