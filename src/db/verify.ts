import { sql } from 'kysely'
import { EXPIRED, PERIOD_ROWS_FROM, SIDES } from '../ledger/state/state.ts'
import type { KeyKind } from '../model/caller.ts'
import { isOfKind, listRows, RECEIPT_KINDS, TRANSFER_UNITS, unionOfKinds } from './sql.ts'
import { changeRows, type SqlStore } from './sql-store.ts'
import type { LedgerDb, ProvedSumsTable } from './tables.ts'

/**
 * A sum in two columns, the high and the low 32 bits of the amounts, because SUM fails beyond 64 bits. A negative amount has
 * a negative high part and a positive low part.
 */
const highAndLow = (amount: string): string =>
  `COALESCE(SUM((${amount}) >> 32), 0) AS high_nano, COALESCE(SUM((${amount}) & 4294967295), 0) AS low_nano`

/** The sum as one column. If it does not fit, it is a REAL, which equals no amount. */
const sumThatFits = (amount: string): string =>
  `(COALESCE(SUM((${amount}) >> 32), 0) * 4294967296 + COALESCE(SUM((${amount}) & 4294967295), 0))`

interface HighAndLow {
  readonly high_nano: bigint
  readonly low_nano: bigint
}

export const exactSum = ({ high_nano, low_nano }: HighAndLow): bigint => (high_nano << 32n) + low_nano

interface LedgerEnd {
  last_receipt: number
  last_transfer: number
  first_open: number | null
  outside_nano: bigint
}

/** The ends of the tables, and the balance of `external` after exactly these transfers, in one statement. */
export async function findLedgerEnd(db: LedgerDb): Promise<LedgerEnd> {
  const query = sql<LedgerEnd>`SELECT
    (SELECT COALESCE(MAX(row), 0) FROM receipts) AS last_receipt,
    (SELECT COALESCE(MAX(row), 0) FROM transfers) AS last_transfer,
    (SELECT MIN(row) FROM receipts INDEXED BY open_receipts WHERE state = 'open') AS first_open,
    (SELECT posted_nano FROM buckets WHERE row = ${SIDES.usd.issued}) AS outside_nano`
  return (await listRows(db, query))[0]!
}

/** Each is 1 where the rule is broken. */
interface CheckedWallet {
  account: number
  posted: number
  held: number
  overdrawn: number
}

/** A window or a spend cap, with its usage by its own row and by its receipts. */
export interface CheckedPeriod {
  /** `cap`: a closed bucket of an earlier version's spend cap, without anything to check. */
  kind: 'window' | 'cap' | 'counter'
  account: number
  /** The row of a window, or the subject of a spend cap, as in proved_sums. */
  subject: string
  period_start: number
  period_end: number
  /** The receipt with which the period of a spend cap began; null for a window. */
  first_receipt: number | null
  closed_at: number | null
  used_nano: bigint
  /** The part that an earlier proof verified. */
  proved_nano: bigint
  /** Charges of the movements after `after`, up to and including `last`. Null: too many for one statement. */
  charged_nano: bigint | null
  after: number
  last: number
  /** Each is 1 where the rule is broken. */
  held: number
  overdrawn: number
}

/** Up to this many movements are added up in the statement that reads the balance; more in statements of their own. */
const MOVEMENTS_AT_ONCE = 32

/** The list of buckets is JSON without spaces. */
const standsOn = (bucket: string): string =>
  `instr(',' || trim(receipts.buckets, '[]') || ',', ',' || ${bucket} || ',') > 0`

const isHeldWrong = (which: string, amount = 'hold_nano') =>
  sql.raw(`held_nano <> (SELECT ${sumThatFits(amount)} FROM receipts INDEXED BY open_receipts
    WHERE receipts.state = 'open' AND receipts.account = slice.account AND ${which})`)

const IS_OVERDRAWN = sql`posted_nano < 0 OR held_nano < 0 OR posted_nano - held_nano < 0`

const moversOf = (table: string, which: string): string =>
  `SELECT movement, balance_nano FROM ${table} AS mover WHERE mover.account = slice.account AND ${which} AND movement IS NOT NULL`

/** Checks the wallets of the next accounts against their last movements, in one statement. */
export function checkWallets(db: LedgerDb, after: number, limit: number): Promise<readonly CheckedWallet[]> {
  const movers = `${moversOf('receipts', `kind = 'wallet'`)} UNION ALL ${moversOf('transfers', `unit = 'usd'`)}`
  const query = sql<CheckedWallet>`
    WITH slice AS MATERIALIZED (SELECT row, account, posted_nano, held_nano FROM buckets INDEXED BY one_wallet_an_account
      WHERE kind = 'wallet' AND account > ${after} ORDER BY account LIMIT ${limit})
    SELECT account, ${IS_OVERDRAWN} AS overdrawn,
        posted_nano <> COALESCE((SELECT balance_nano FROM (${sql.raw(movers)} ORDER BY movement DESC LIMIT 1)), 0) AS posted,
        ${isHeldWrong(standsOn('slice.row'))} AS held
      FROM slice`
  return listRows(db, query)
}

/** Of a slice. Only the indexes of one kind are ordered by movement. */
const lastOf = (kind: KeyKind): string => `COALESCE((SELECT MAX(movement) FROM receipts
  WHERE receipts.account = slice.account AND kind = '${kind}' AND movement IS NOT NULL), 0)`

const chargedOf = (
  kind: KeyKind,
  which: string,
  amount = 'charge_nano',
): string => `(SELECT ${sumThatFits(amount)} FROM receipts
  WHERE receipts.account = slice.account AND kind = '${kind}' AND movement > slice.after AND movement <= slice.last AND ${which})`

/** Null: too many for one statement. */
const chargedIfFew = (charged: string) => sql.raw(`CASE WHEN last - after <= ${MOVEMENTS_AT_ONCE} THEN ${charged} END`)

/** Transfers of a window: its charges are after the first one, and before its expiry. */
const transferOf = (of: 'MIN' | 'MAX', which: string): string =>
  `(SELECT ${of}(movement) FROM entries JOIN transfers ON transfers.row = entries.transfer WHERE entries.bucket = slice.row AND ${which})`

const PROVED = (sinceProof: boolean) =>
  sql.raw(`LEFT JOIN proved_sums AS proved ON ${sinceProof} AND proved.account = slice.account
    AND proved.subject = slice.subject AND proved.period_start = slice.period_start`)

/** Periods behind the last one of the slice before. */
interface PeriodSlice<After> {
  readonly after: After
  readonly limit: number
  /** From the sums of the last proof, and only windows that are open; else all, from their first receipts. */
  readonly sinceProof: boolean
}

export function checkWindows(
  db: LedgerDb,
  { after, limit, sinceProof }: PeriodSlice<{ readonly row: number; readonly end: number }>,
): Promise<readonly CheckedPeriod[]> {
  const columns = sql`SELECT row, kind, account, CAST(row AS TEXT) AS subject, period_start, period_end, closed_at,
    posted_nano, held_nano FROM buckets`
  // Many periods end at the same time, so rows are ordered within it.
  const which = sinceProof
    ? sql`${columns} INDEXED BY live_windows_by_end
          WHERE kind = 'window' AND closed_at IS NULL AND period_end = ${after.end} AND row > ${after.row}
        UNION ALL ${columns} INDEXED BY live_windows_by_end
          WHERE kind = 'window' AND closed_at IS NULL AND period_end > ${after.end}
        ORDER BY period_end, row LIMIT ${limit}`
    : sql`${columns} WHERE row > ${Math.max(after.row, PERIOD_ROWS_FROM - 1)} ORDER BY row LIMIT ${limit}`
  const query = sql<CheckedPeriod>`
    WITH slice AS MATERIALIZED (${which}),
      ranged AS MATERIALIZED (
        SELECT slice.*, COALESCE(proved.used_nano, 0) AS proved_nano,
            COALESCE(proved.movement, ${sql.raw(transferOf('MIN', 'TRUE'))}, 0) AS after,
            COALESCE(${sql.raw(transferOf('MAX', `transfers.kind = 'expiry'`))}, ${sql.raw(lastOf('builder'))}) AS last,
            (SELECT ${sql.raw(sumThatFits('delta_nano'))} FROM entries WHERE entries.bucket = slice.row) - posted_nano AS used_nano
          FROM slice ${PROVED(sinceProof)})
    SELECT kind, account, subject, period_start, period_end, NULL AS first_receipt, closed_at, used_nano, proved_nano, after, last,
        ${chargedIfFew(chargedOf('builder', standsOn('slice.row')))} AS charged_nano,
        ${isHeldWrong(standsOn('slice.row'))} AS held, ${IS_OVERDRAWN} AS overdrawn
      FROM ranged AS slice`
  return listRows(db, query)
}

/** The key in the subject of a cap; null for the cap of a person or a team, whose mark is the rest. */
const CAP_KEY = `CASE WHEN subject GLOB 'cap:[0-9]*' THEN CAST(substr(subject, 5) AS INTEGER) END`
const CAP_MARK = `CASE WHEN subject GLOB 'cap:[0-9]*' THEN substr(subject, 5 + instr(substr(subject, 5), ':')) ELSE substr(subject, 5) END`

/** What a receipt holds of a cap, and what it has spent of it: `spentOf` of ledger/state/allowances.ts. */
const RESERVED_TOKENS = '(receipts.input_estimate + receipts.output_bound)'
const countedBy = (mark: string, { usd, requests, tokens }: Record<'usd' | 'requests' | 'tokens', string>): string =>
  `CASE WHEN ${mark} GLOB '*requests_day' OR ${mark} GLOB 'run:*:requests' THEN ${requests}
    WHEN ${mark} GLOB '*tokens_day' OR ${mark} GLOB 'run:*:tokens' THEN ${tokens} ELSE ${usd} END`
const heldUnder = (mark: string): string =>
  countedBy(mark, { usd: 'receipts.hold_nano', requests: '1', tokens: RESERVED_TOKENS })
export const spentUnder = (mark: string): string =>
  countedBy(mark, {
    usd: 'COALESCE(receipts.charge_nano, 0)',
    requests: `receipts.state = 'settled'`,
    tokens: `CASE receipts.state WHEN 'settled' THEN MIN(${RESERVED_TOKENS}, receipts.uncached_input + receipts.cached_input
      + receipts.cache_write + receipts.output) ELSE 0 END`,
  })

/** Receipts that count against the cap in its running period. */
const COUNTED = `(slice.key IS NULL OR receipts.key = slice.key) AND receipts.row >= slice.first_receipt
  AND instr(' ' || receipts.caps || ' ', ' ' || slice.mark || ' ') > 0`

const spentOf = (kind: KeyKind): string => chargedOf(kind, COUNTED, spentUnder('slice.mark'))

/** Counters of caps, in the order of their accounts. */
export function checkCaps(
  db: LedgerDb,
  { after, limit, sinceProof }: PeriodSlice<{ readonly account: number; readonly subject: string }>,
): Promise<readonly CheckedPeriod[]> {
  const query = sql<CheckedPeriod>`
    WITH slice AS MATERIALIZED (
        SELECT *, ${sql.raw(CAP_KEY)} AS key, ${sql.raw(CAP_MARK)} AS mark FROM spend_counters
          WHERE (account, subject) > (${after.account}, ${after.subject}) ORDER BY account, subject LIMIT ${limit}),
      ranged AS MATERIALIZED (
        SELECT slice.*, COALESCE(proved.used_nano, slice.carried_nano) AS proved_nano, COALESCE(proved.movement, 0) AS after,
            MAX(${sql.raw(lastOf('wallet'))}, ${sql.raw(lastOf('builder'))}) AS last
          FROM slice ${PROVED(sinceProof)})
    SELECT 'counter' AS kind, account, subject, period_start, period_end, first_receipt, NULL AS closed_at, spent_nano AS used_nano, proved_nano, after, last,
        ${chargedIfFew(`${spentOf('wallet')} + ${spentOf('builder')}`)} AS charged_nano,
        ${isHeldWrong(COUNTED, heldUnder('slice.mark'))} AS held,
        spent_nano < 0 OR held_nano < 0 OR spent_nano > bound_nano - held_nano AS overdrawn
      FROM ranged AS slice`
  return listRows(db, query)
}

/** The movements of an account after `after`, up to and including `to`. */
interface MovementSlice {
  readonly account: number
  readonly after: number
  readonly to: number
}

const charges = sql.raw(highAndLow('charge_nano'))

const inSlice = ({ account, after, to }: MovementSlice, kind: KeyKind) =>
  sql`receipts.account = ${account} AND ${isOfKind(kind)} AND movement > ${after} AND movement <= ${to}
    AND receipts.state = 'settled'`

export async function sumChargesOfWindow(db: LedgerDb, slice: MovementSlice, bucket: number): Promise<bigint> {
  const query = sql<HighAndLow>`SELECT ${charges} FROM receipts, json_each(receipts.buckets) AS held_on
    WHERE ${inSlice(slice, 'builder')} AND held_on.value = ${bucket}`
  return exactSum((await listRows(db, query))[0]!)
}

export async function listKeysUnderCaps(db: LedgerDb, slice: MovementSlice): Promise<readonly number[]> {
  const ofKind = (kind: KeyKind) => sql`SELECT key FROM receipts WHERE ${inSlice(slice, kind)} AND caps IS NOT NULL`
  const rows = await listRows(db, sql<{ key: number }>`SELECT DISTINCT key FROM (${unionOfKinds(ofKind)}) ORDER BY key`)
  return rows.map(({ key }) => key)
}

export interface CountedCap {
  /** Null: of a person or a team. */
  readonly key: number | null
  /** As on receipts: `day`, `team:3:month`. */
  readonly mark: string
  /** The receipt with which its period began. */
  readonly firstReceipt: number
  /** It counts the movements after `from`, up to and including `to`. */
  readonly from: number
  readonly to: number
}

/** Of a mark on a receipt: what no other cap of the account has. Marks of keys do not name their key. */
const NAMED = `CASE WHEN instr(marked.value, ':') > 0 THEN marked.value ELSE receipts.key || ':' || marked.value END`

/** The charges of each spend cap, in their order. Caps are found by the marks of each receipt, because there may be thousands. */
export async function sumChargesOfCaps(
  db: LedgerDb,
  slice: MovementSlice,
  caps: readonly CountedCap[],
): Promise<readonly bigint[]> {
  const asked = caps.map(({ key, mark, firstReceipt, from, to }) => [
    key === null ? mark : `${key}:${mark}`,
    ...[firstReceipt, from, to],
  ])
  const ofKind = (kind: KeyKind) => sql`
    SELECT counted.place, ${sql.raw(highAndLow(spentUnder('marked.value')))} FROM receipts
      CROSS JOIN json_each('["' || replace(receipts.caps, ' ', '","') || '"]') AS marked
      CROSS JOIN counted ON counted.name = ${sql.raw(NAMED)} AND receipts.row >= counted.first
        AND movement > counted.after AND movement <= counted.last
      WHERE ${inSlice(slice, kind)} AND caps IS NOT NULL GROUP BY 1`
  const sums = caps.map(() => 0n)
  const query = sql<HighAndLow & { place: number }>`
    WITH counted AS MATERIALIZED (
      SELECT key AS place, value ->> 0 AS name, value ->> 1 AS first, value ->> 2 AS after, value ->> 3 AS last
        FROM json_each(${JSON.stringify(asked)}))
    ${unionOfKinds(ofKind)}`
  for (const row of await listRows(db, query)) sums[row.place]! += exactSum(row)
  return sums
}

/** When the request of a receipt was admitted. */
export async function findOpeningOf(db: LedgerDb, receipt: number): Promise<number | undefined> {
  const [row] = await listRows(db, sql<{ at: number }>`SELECT opened_at AS at FROM receipts WHERE row = ${receipt}`)
  return row?.at
}

/** Up to `limit` rows after `after`, up to and including `to`. */
export interface RowSlice {
  readonly after: number
  readonly to: number
  readonly limit: number
}

/** Rows of a slice that break the same rules, by account; and those that break none. */
export interface CheckedRows extends HighAndLow {
  /** A bit for each broken rule, by its place in the list. */
  broken: number
  account: number | null
  /** The kind of a receipt, or of a transfer. */
  kind: string
  /** How many balances each row counts on. */
  balances: number
  rows: number
  /** The last row. Their high and low sum is that of their amounts. */
  last: number
}

type Rules = Readonly<Record<string, string>>

/** A rule whose value is NULL, because something is missing, is broken. */
const asBits = (rules: Rules, firstPlace: number): string =>
  Object.values(rules)
    .map((broken, place) => `(((${broken}) IS NOT FALSE) << ${firstPlace + place})`)
    .join(' | ')

const placesOf = (...rules: readonly Rules[]): number => rules.flatMap((each) => Object.keys(each)).length

/** Every index of movements, by the kind or unit of its rows. */
const INDEXES = [
  ...RECEIPT_KINDS.map((word) => ({ word, table: 'receipts', where: `other.kind = '${word}'` })),
  ...TRANSFER_UNITS.map((word) => ({ word, table: 'transfers', where: `other.unit = '${word}'` })),
]

const isIn = ({ table, where }: (typeof INDEXES)[number], movement: string): string =>
  `EXISTS (SELECT 1 FROM ${table} AS other WHERE other.account = this.account AND ${where} AND other.movement = ${movement})`

const moversBefore = (table: string, which: string): string =>
  `SELECT movement, balance_nano FROM ${table} AS other
    WHERE other.account = this.account AND other.${which} AND other.movement < this.movement`

/**
 * Rules over `this` and `before`, the wallet charge with the number before, which most charges follow. Each row is checked
 * against the one before it, which is final, so that the chain holds when every row does. Unique indexes ensure that a
 * number occurs once per index.
 */
const movementRules = ({
  word,
  isDollars,
  delta,
}: Readonly<Record<'word' | 'isDollars' | 'delta', string>>): Rules => ({
  'movements of an account are numbered without a gap': `
    this.movement IS NULL OR NOT (before.row IS NOT NULL OR this.movement = 1
        OR ${INDEXES.map((index) => isIn(index, 'this.movement - 1')).join(' OR ')})
      OR ${INDEXES.map((index) => `(${word} <> '${index.word}' AND ${isIn(index, 'this.movement')})`).join(' OR ')}`,
  'a balance is the one before and what moved': `
    (${isDollars}) = (this.balance_nano IS NULL) OR ((${isDollars}) AND this.balance_nano <> ${delta}
      + COALESCE(before.balance_nano, (SELECT balance_nano FROM
        (${moversBefore('receipts', "kind = 'wallet'")} UNION ALL ${moversBefore('transfers', "unit = 'usd'")}
          ORDER BY movement DESC LIMIT 1)), 0))`,
})

const BEFORE = `LEFT JOIN receipts AS before
  ON before.account = this.account AND before.kind = 'wallet' AND before.movement = this.movement - 1`

/** Most receipts hold on the wallet alone. Only the others are checked balance by balance. */
const IS_PLAIN = `(this.kind = 'wallet' AND this.buckets = '[' || wallet.row || ']')`

const drawnFrom = (unit: string) => `
  (SELECT COUNT(*) FROM json_each(this.buckets) AS held_on JOIN buckets ON buckets.row = held_on.value
    WHERE buckets.unit = '${unit}')`

const CLOSED_RULES: Rules = {
  'a charge is within its hold': `
    this.state = 'settled' AND (this.charge_nano > this.hold_nano OR this.charge_nano < 0)`,
  'cost is charge plus shortfall': `this.cost_nano <> this.charge_nano + this.shortfall_nano`,
  'what was released cost nothing': `this.state = 'released' AND this.charge_nano <> 0`,
  ...movementRules({ word: 'this.kind', isDollars: `this.kind = 'wallet'`, delta: '-this.charge_nano' }),
}

const PRICE_RULES: Rules = {
  'a receipt names a recorded price': `
    NOT EXISTS (SELECT 1 FROM prices WHERE prices.model = this.model AND prices.version = this.price_version)`,
}

/** Rules that every plain receipt fulfils. */
const BUCKET_RULES: Rules = {
  'a receipt stands on a bucket of its account': `
    EXISTS (SELECT 1 FROM json_each(this.buckets) AS held_on WHERE NOT EXISTS
      (SELECT 1 FROM buckets WHERE buckets.row = held_on.value AND buckets.account = this.account
        AND (this.state <> 'open' OR buckets.closed_at IS NULL)))`,
  'a wallet key draws on the wallet, a builder key on windows, and neither on both': `
    NOT CASE this.kind WHEN 'wallet' THEN ${drawnFrom('usd')} = 1 AND ${drawnFrom('quota')} = 0
      ELSE ${drawnFrom('usd')} = 0 AND (${drawnFrom('quota')} > 0 OR this.hold_nano = 0) END`,
  'a receipt stands on a bucket once': `
    (SELECT COUNT(*) <> COUNT(DISTINCT value) FROM json_each(this.buckets))`,
}

/** In groups, so that the condition of a group is evaluated once. */
const RECEIPT_BITS = [
  `CASE WHEN this.state <> 'open' THEN ${asBits(CLOSED_RULES, 0)} ELSE 0 END`,
  asBits(PRICE_RULES, placesOf(CLOSED_RULES)),
  `CASE WHEN ${IS_PLAIN} THEN 0 ELSE ${asBits(BUCKET_RULES, placesOf(CLOSED_RULES, PRICE_RULES))} END`,
].join(' | ')

const OTHER_SIDE = `CASE WHEN this.unit = 'usd' THEN ${SIDES.usd.issued}
  WHEN this.kind = 'expiry' THEN ${EXPIRED} ELSE ${SIDES.quota.issued} END`

/** Transfers of spend caps are left from an earlier version. They have movements, but no entries. */
const HAS_ENTRIES = `this.unit <> 'cap'`

const TRANSFER_RULES: Rules = {
  'entries of a transfer sum to zero': `${HAS_ENTRIES} AND own.delta_nano <> -other.delta_nano`,
  'a transfer has the entries of its amount': `
    (SELECT COUNT(*) FROM entries WHERE entries.transfer = this.row) <> CASE WHEN ${HAS_ENTRIES} THEN 2 ELSE 0 END
      OR (${HAS_ENTRIES} AND own.delta_nano <> this.amount_nano)`,
  'a transfer stays within its unit': `
    ${HAS_ENTRIES} AND (moved.unit <> this.unit OR other.bucket <> ${OTHER_SIDE})`,
  'a transfer moves a bucket of its account, before that is closed': `
    ${HAS_ENTRIES} AND (moved.account <> this.account OR this.at > COALESCE(moved.closed_at, this.at))`,
  ...movementRules({ word: 'this.unit', isDollars: `this.unit = 'usd'`, delta: 'this.amount_nano' }),
}

export const RECEIPT_RULE_NAMES: readonly string[] = Object.keys({ ...CLOSED_RULES, ...PRICE_RULES, ...BUCKET_RULES })
export const TRANSFER_RULE_NAMES: readonly string[] = Object.keys(TRANSFER_RULES)

/** The account matters only where a rule is broken. */
const GROUPED = sql`SELECT broken, CASE WHEN broken <> 0 THEN account END AS account, kind, balances, COUNT(*) AS rows,
    MAX(row) AS last, ${sql.raw(highAndLow('amount'))}
  FROM slice GROUP BY 1, 2, 3, 4`

/** Counts existing rows, because numbers may be missing. */
const within = (
  table: 'receipts' | 'transfers',
  { after, to, limit }: RowSlice,
) => sql`this.row > ${after} AND this.row <=
  (SELECT MAX(row) FROM (SELECT row FROM ${sql.table(table)} WHERE row > ${after} AND row <= ${to} ORDER BY row LIMIT ${limit}))`

/** Open receipts are checked by the rules that apply already. */
export function checkReceipts(db: LedgerDb, slice: RowSlice): Promise<readonly CheckedRows[]> {
  const query = sql<CheckedRows>`
    WITH slice AS MATERIALIZED (
      SELECT ${sql.raw(RECEIPT_BITS)} AS broken, this.row, this.account, this.kind,
          ${sql.raw(`CASE WHEN ${IS_PLAIN} THEN 1 WHEN this.kind = 'wallet' THEN ${drawnFrom('usd')} ELSE ${drawnFrom('quota')} END`)} AS balances,
          COALESCE(this.charge_nano, 0) AS amount
        FROM receipts AS this ${sql.raw(BEFORE)}
          LEFT JOIN buckets AS wallet ON wallet.account = this.account AND wallet.kind = 'wallet'
        WHERE ${within('receipts', slice)})
    ${GROUPED}`
  return listRows(db, query)
}

export function checkTransfers(db: LedgerDb, slice: RowSlice): Promise<readonly CheckedRows[]> {
  const query = sql<CheckedRows>`
    WITH slice AS MATERIALIZED (
      SELECT ${sql.raw(asBits(TRANSFER_RULES, 0))} AS broken, this.row, this.account, this.kind, 1 AS balances,
          CASE WHEN ${sql.raw(HAS_ENTRIES)} THEN this.amount_nano ELSE 0 END AS amount
        FROM transfers AS this ${sql.raw(BEFORE)}
          LEFT JOIN entries AS own ON own.transfer = this.row AND own.seq = 0
          LEFT JOIN entries AS other ON other.transfer = this.row AND other.seq = 1
          LEFT JOIN buckets AS moved ON moved.row = own.bucket
        WHERE ${within('transfers', slice)})
    ${GROUPED}`
  return listRows(db, query)
}

/** How far the ledger is verified: the next proof begins after these rows. */
export interface StoredProof {
  readonly receipt: number
  readonly transfer: number
  /** Operator credits less refunds, up to that transfer. */
  readonly issued: bigint
}

export async function findProof(db: LedgerDb): Promise<StoredProof> {
  const rows = await db.selectFrom('proved_rows').selectAll().execute()
  const [outside] = await db.selectFrom('proved_balances').selectAll().execute()
  const rowOf = (what: 'receipt' | 'transfer') => rows.find((row) => row.what === what)?.row ?? 0
  return { receipt: rowOf('receipt'), transfer: rowOf('transfer'), issued: -(outside?.posted_nano ?? 0n) }
}

const PUT_ROW = `INSERT INTO proved_rows (what, row) VALUES (?, ?)
  ON CONFLICT (what) DO UPDATE SET row = excluded.row`

const PUT_BALANCE = `INSERT INTO proved_balances (bucket, posted_nano) VALUES (?, ?)
  ON CONFLICT (bucket) DO UPDATE SET posted_nano = excluded.posted_nano`

export async function recordProof(file: SqlStore, { receipt, transfer, issued }: StoredProof): Promise<void> {
  await file.atomic([
    { sql: PUT_ROW, rows: Object.entries({ receipt, transfer }) },
    { sql: PUT_BALANCE, rows: [[SIDES.usd.issued, -issued]] },
  ])
}

const PUT_SUM = `INSERT INTO proved_sums (account, subject, period_start, movement, used_nano, period_end)
  VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (account, subject, period_start) DO UPDATE SET movement = excluded.movement, used_nano = excluded.used_nano`

/** The sum of the receipts up to a movement never changes, so the next proof adds only what came after it. */
export async function recordSums(file: SqlStore, sums: readonly ProvedSumsTable[]): Promise<void> {
  const rows = sums.map((sum) => [
    ...[sum.account, sum.subject, sum.period_start],
    ...[sum.movement, sum.used_nano, sum.period_end],
  ])
  await file.atomic([{ sql: PUT_SUM, rows }])
}

const FORGET_SUMS = `DELETE FROM proved_sums WHERE (account, subject, period_start) IN
  (SELECT account, subject, period_start FROM proved_sums WHERE period_end < ? ORDER BY period_end LIMIT ?)`

/** Deletes sums of periods that ended before. A proof that still needs one adds it up again. */
export const forgetSums = (file: SqlStore, before: number, limit: number) =>
  changeRows(file, FORGET_SUMS, [before, limit])
