import { sql } from 'kysely'
import { RECEIPT_KINDS, TRANSFER_UNITS } from './movements.ts'
import type { LedgerDb } from './tables.ts'

/** Rows behind `after`, up to and with `to`. */
export interface RowSlice {
  readonly after: number
  readonly to: number
}

/** What a slice finds: how many rows of an account break the rule of that name, how many there are, or what was moved. */
export interface Finding {
  readonly what: 'check' | 'count' | 'moved' | 'charged'
  readonly name: string
  readonly account: number
  readonly amount_nano: bigint
}

// Each names the account of every row that breaks a rule; the name of the rule is what the operator reads.
const CLOSED_CHECKS = {
  'a charge is within its hold': `
    SELECT account FROM closed WHERE state = 'settled' AND (charge_nano > hold_nano OR charge_nano < 0)`,
  'cost is charge plus shortfall': `
    SELECT account FROM closed WHERE state = 'open' OR cost_nano <> charge_nano + shortfall_nano`,
  'what was released cost nothing': `SELECT account FROM closed WHERE state = 'released' AND charge_nano <> 0`,
  'entries of a charge sum to zero': `
    SELECT account FROM slice WHERE row IN (SELECT receipt FROM moves GROUP BY receipt HAVING SUM(delta_nano) <> 0)`,
} as const

const drawnFrom = (unit: string) => `
  (SELECT COUNT(*) FROM json_each(slice.buckets) AS held_on JOIN buckets ON buckets.row = held_on.value
    WHERE buckets.unit = '${unit}')`

const RECEIPT_CHECKS = {
  'a receipt names a recorded price': `
    SELECT account FROM slice WHERE NOT EXISTS
      (SELECT 1 FROM prices WHERE prices.model = slice.model AND prices.version = slice.price_version)`,
  'a receipt stands on a bucket of its account': `
    SELECT account FROM slice, json_each(slice.buckets) AS held_on WHERE NOT EXISTS
      (SELECT 1 FROM buckets WHERE buckets.row = held_on.value AND buckets.account = slice.account)`,
  'a wallet key draws on the wallet, a builder key on windows, and neither on both': `
    SELECT account FROM
      (SELECT account, kind, hold_nano, ${drawnFrom('usd')} AS wallets, ${drawnFrom('quota')} AS windows FROM slice)
      WHERE NOT CASE kind WHEN 'wallet' THEN wallets = 1 AND windows = 0
        ELSE wallets = 0 AND (windows > 0 OR hold_nano = 0) END`,
  'a receipt stands on a bucket once': `
    SELECT account FROM slice WHERE (SELECT COUNT(*) FROM json_each(slice.buckets))
      <> (SELECT COUNT(DISTINCT value) FROM json_each(slice.buckets))`,
} as const

const TRANSFER_CHECKS = {
  'entries of a transfer sum to zero': `
    SELECT account FROM slice WHERE row IN (SELECT transfer FROM moves GROUP BY transfer HAVING SUM(delta_nano) <> 0)`,
  'a transfer has the entries of its amount': `
    SELECT account FROM slice WHERE amount_nano <>
      (SELECT COALESCE(SUM(delta_nano), 0) FROM moves WHERE moves.transfer = slice.row AND seq = 0)`,
  'a transfer stays within its unit': `
    SELECT account FROM slice WHERE row IN
      (SELECT transfer FROM moves JOIN buckets ON buckets.row = moves.bucket WHERE buckets.unit <> slice.unit)`,
} as const

/** Every index of numbers, by the word that its rows have in `numbered`. */
const INDEXES = [
  ...RECEIPT_KINDS.map((word) => ({ word, table: 'receipts', where: `other.kind = '${word}'` })),
  ...TRANSFER_UNITS.map((word) => ({ word, table: 'transfers', where: `other.unit = '${word}'` })),
]

const isIn = ({ table, where }: (typeof INDEXES)[number], movement: string): string =>
  `EXISTS (SELECT 1 FROM ${table} AS other
    WHERE other.account = numbered.account AND ${where} AND other.movement = ${movement})`

/** In its own index a number is there once, which the index itself sees to. */
const IS_ELSEWHERE = INDEXES.map(
  (index) => `(numbered.word <> '${index.word}' AND ${isIn(index, 'numbered.movement')})`,
)
/** The first that has it is enough, and for most that is the first that is asked. */
const HAS_ONE_BEFORE = INDEXES.map((index) => isIn(index, 'numbered.movement - 1'))

const moversOf = (table: string, which: string): string => `
  SELECT movement, balance_nano FROM ${table} AS other
    WHERE other.account = numbered.account AND other.${which} AND other.movement < numbered.movement`

/** The balance behind the last thing that moved this wallet before: two indexes, merged as they are read. */
const BALANCE_BEFORE = `COALESCE((SELECT balance_nano FROM
  (${moversOf('receipts', "kind = 'wallet'")} UNION ALL ${moversOf('transfers', "unit = 'usd'")} ORDER BY movement DESC LIMIT 1)), 0)`

/**
 * Over `numbered`: account, word (the kind or the unit), movement, balance_nano, and in delta_nano what moved the wallet, null
 * for what a plan pays. Each row is held to the one before it, which is final, so that the whole chain holds when every row does.
 */
const MOVEMENT_CHECKS = {
  'movements of an account are numbered without a gap': `
    SELECT account FROM numbered WHERE movement IS NULL OR ${IS_ELSEWHERE.join(' OR ')}
      OR NOT (movement = 1 OR ${HAS_ONE_BEFORE.join(' OR ')})`,
  'a balance is the one before and what moved': `
    SELECT account FROM numbered WHERE (delta_nano IS NULL) <> (balance_nano IS NULL)
      OR (delta_nano IS NOT NULL AND balance_nano <> delta_nano + ${BALANCE_BEFORE})`,
} as const

const asFindings = (checks: Readonly<Record<string, string>>): string =>
  Object.entries(checks)
    .map(
      ([name, query]) =>
        `SELECT 'check' AS what, '${name}' AS name, account, COUNT(*) AS amount_nano FROM (${query}) GROUP BY account`,
    )
    .join(' UNION ALL ')

const MOVED = `
  UNION ALL SELECT 'moved', CAST(bucket AS TEXT), 0, SUM(delta_nano) FROM moves GROUP BY bucket`

/** The rules that every row is held to, by the names that the operator reads. */
export const ROW_CHECKS: readonly string[] = Object.keys({
  ...TRANSFER_CHECKS,
  ...CLOSED_CHECKS,
  ...RECEIPT_CHECKS,
  ...MOVEMENT_CHECKS,
})

/** A slice of the receipts; `open` names those of them that had not ended in the moment of the balances. */
export async function checkReceipts(
  db: LedgerDb,
  { after, to, open }: RowSlice & { readonly open: readonly number[] },
): Promise<readonly Finding[]> {
  const openHere = JSON.stringify(open)
  const { rows } = await sql<Finding>`
  WITH slice AS MATERIALIZED (
      SELECT row, account, kind, state, model, price_version, buckets, hold_nano, cost_nano, charge_nano, shortfall_nano,
          movement, balance_nano
        FROM receipts WHERE row > ${after} AND row <= ${to}),
    closed AS (SELECT * FROM slice WHERE row NOT IN (SELECT value FROM json_each(${openHere}))),
    numbered AS (
      SELECT account, kind AS word, movement, balance_nano, CASE kind WHEN 'wallet' THEN -charge_nano END AS delta_nano FROM closed),
    moves AS MATERIALIZED (
      SELECT receipt, bucket, delta_nano FROM usage_entries
        WHERE receipt > ${after} AND receipt <= ${to} AND receipt NOT IN (SELECT value FROM json_each(${openHere})))
  ${sql.raw(asFindings({ ...CLOSED_CHECKS, ...RECEIPT_CHECKS, ...MOVEMENT_CHECKS }))}
  UNION ALL SELECT 'count', 'receipts', 0, COUNT(*) FROM slice
  UNION ALL SELECT 'charged', 'revenue', 0, COALESCE(SUM(charge_nano), 0)
    FROM closed WHERE state = 'settled' AND kind = 'wallet'
  ${sql.raw(MOVED)}`.execute(db)
  return rows
}

export async function checkTransfers(db: LedgerDb, { after, to }: RowSlice): Promise<readonly Finding[]> {
  const { rows } = await sql<Finding>`
  WITH slice AS MATERIALIZED (
      SELECT row, account, unit, amount_nano, movement, balance_nano FROM transfers WHERE row > ${after} AND row <= ${to}),
    numbered AS (
      SELECT account, unit AS word, movement, balance_nano, CASE unit WHEN 'usd' THEN amount_nano END AS delta_nano FROM slice),
    moves AS MATERIALIZED (
      SELECT transfer, seq, bucket, delta_nano FROM entries WHERE transfer > ${after} AND transfer <= ${to})
  ${sql.raw(asFindings({ ...TRANSFER_CHECKS, ...MOVEMENT_CHECKS }))}
  UNION ALL SELECT 'count', 'transfers', 0, COUNT(*) FROM slice
  ${sql.raw(MOVED)}`.execute(db)
  return rows
}
