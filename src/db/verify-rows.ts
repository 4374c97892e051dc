import { sql } from 'kysely'
import { EXPIRED, SIDES } from '../ledger/state/state.ts'
import { RECEIPT_KINDS, TRANSFER_UNITS } from './statement.ts'
import type { LedgerDb } from './tables.ts'
import { highAndLow } from './verify-balances.ts'

/** The next rows behind `after`, so many at most, and none behind `to`. */
export interface RowSlice {
  readonly after: number
  readonly to: number
  readonly limit: number
}

/** Rows of a slice that are alike: those that break the same rules, by account, and all that break none. */
export interface CheckedRows {
  /** A bit for each rule, by its place in the list of rules; 0: none is broken. */
  broken: number
  account: number | null
  /** The kind of a receipt, or of a transfer. */
  kind: string
  /** On how many balances each stands. */
  balances: number
  rows: number
  /** The last of them. */
  last: number
  /** What they charged or moved: see exactSum. */
  high_nano: bigint
  low_nano: bigint
}

type Rules = Readonly<Record<string, string>>

/** A rule that cannot be answered, because something is missing, is broken. */
const asBits = (rules: Rules, firstPlace: number): string =>
  Object.values(rules)
    .map((broken, place) => `(((${broken}) IS NOT FALSE) << ${firstPlace + place})`)
    .join(' | ')

const placesOf = (...rules: readonly Rules[]): number => rules.flatMap((each) => Object.keys(each)).length

/** Every index of movements, by the word that a row of it has. */
const INDEXES = [
  ...RECEIPT_KINDS.map((word) => ({ word, table: 'receipts', where: `other.kind = '${word}'` })),
  ...TRANSFER_UNITS.map((word) => ({ word, table: 'transfers', where: `other.unit = '${word}'` })),
]

const isIn = ({ table, where }: (typeof INDEXES)[number], movement: string): string =>
  `EXISTS (SELECT 1 FROM ${table} AS other WHERE other.account = this.account AND ${where} AND other.movement = ${movement})`

const moversOf = (table: string, which: string): string => `
  SELECT movement, balance_nano FROM ${table} AS other
    WHERE other.account = this.account AND other.${which} AND other.movement < this.movement`

/**
 * Over `this`, and `before`: the charge of a wallet that has the number before, which most charges follow. Each row is held
 * to the one before it, which is final, so that the whole chain holds when every row does. In its own index a number is
 * there once, which the index itself sees to.
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
        (${moversOf('receipts', "kind = 'wallet'")} UNION ALL ${moversOf('transfers', "unit = 'usd'")}
          ORDER BY movement DESC LIMIT 1)), 0))`,
})

const BEFORE = `LEFT JOIN receipts AS before
  ON before.account = this.account AND before.kind = 'wallet' AND before.movement = this.movement - 1`

/** What most receipts are: of a wallet, and on nothing but that wallet. The others are looked at one balance after the other. */
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

/** What is true of every plain one. */
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

/** In groups, so that what a group is asked under is looked at once. */
const RECEIPT_BITS = [
  `CASE WHEN this.state <> 'open' THEN ${asBits(CLOSED_RULES, 0)} ELSE 0 END`,
  asBits(PRICE_RULES, placesOf(CLOSED_RULES)),
  `CASE WHEN ${IS_PLAIN} THEN 0 ELSE ${asBits(BUCKET_RULES, placesOf(CLOSED_RULES, PRICE_RULES))} END`,
].join(' | ')

/** What stands on the other side of a transfer. */
const OTHER_SIDE = `CASE WHEN this.unit = 'usd' THEN ${SIDES.usd.issued}
  WHEN this.kind = 'expiry' THEN ${EXPIRED} ELSE ${SIDES.quota.issued} END`

/** Of the time when spend caps had transfers, only these are left: they have their numbers among the movements. */
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

/** Where nothing is broken it does not matter whose it is. */
const grouped = (checked: string): string => `
  SELECT broken, CASE WHEN broken <> 0 THEN account END AS account, kind, balances, COUNT(*) AS rows, MAX(row) AS last, ${highAndLow('amount')}
    FROM ${checked} GROUP BY 1, 2, 3, 4`

/** By the rows that are there: numbers may be missing. */
const within = (
  table: 'receipts' | 'transfers',
  { after, to, limit }: RowSlice,
) => sql`this.row > ${after} AND this.row <=
  (SELECT MAX(row) FROM (SELECT row FROM ${sql.table(table)} WHERE row > ${after} AND row <= ${to} ORDER BY row LIMIT ${limit}))`

/** A slice of the receipts. Those that are open are held to what is known of them by now. */
export async function checkReceipts(db: LedgerDb, slice: RowSlice): Promise<readonly CheckedRows[]> {
  const { rows } = await sql<CheckedRows>`
    WITH slice AS MATERIALIZED (
      SELECT ${sql.raw(RECEIPT_BITS)} AS broken, this.row, this.account, this.kind,
          ${sql.raw(`CASE WHEN ${IS_PLAIN} THEN 1 WHEN this.kind = 'wallet' THEN ${drawnFrom('usd')} ELSE ${drawnFrom('quota')} END`)} AS balances,
          COALESCE(this.charge_nano, 0) AS amount
        FROM receipts AS this ${sql.raw(BEFORE)}
          LEFT JOIN buckets AS wallet ON wallet.account = this.account AND wallet.kind = 'wallet'
        WHERE ${within('receipts', slice)})
    ${sql.raw(grouped('slice'))}`.execute(db)
  return rows
}

export async function checkTransfers(db: LedgerDb, slice: RowSlice): Promise<readonly CheckedRows[]> {
  const { rows } = await sql<CheckedRows>`
    WITH slice AS MATERIALIZED (
      SELECT ${sql.raw(asBits(TRANSFER_RULES, 0))} AS broken, this.row, this.account, this.kind, 1 AS balances,
          CASE WHEN ${sql.raw(HAS_ENTRIES)} THEN this.amount_nano ELSE 0 END AS amount
        FROM transfers AS this ${sql.raw(BEFORE)}
          LEFT JOIN entries AS own ON own.transfer = this.row AND own.seq = 0
          LEFT JOIN entries AS other ON other.transfer = this.row AND other.seq = 1
          LEFT JOIN buckets AS moved ON moved.row = own.bucket
        WHERE ${within('transfers', slice)})
    ${sql.raw(grouped('slice'))}`.execute(db)
  return rows
}
