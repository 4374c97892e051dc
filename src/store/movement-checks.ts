import { RECEIPT_KINDS, TRANSFER_UNITS } from './movements.ts'

/** How many rows of the account have this number, in whichever table. */
const numberedAs = (movement: string): string =>
  `(${[
    ...RECEIPT_KINDS.map((kind) => ['receipts', `kind = '${kind}'`]),
    ...TRANSFER_UNITS.map((unit) => ['transfers', `unit = '${unit}'`]),
  ]
    .map(
      ([table, which]) =>
        `(SELECT COUNT(*) FROM ${table} AS other WHERE other.account = numbered.account AND other.${which} AND other.movement = ${movement})`,
    )
    .join(' + ')})`

const lastOn = (table: string, which: string): string => `
  SELECT * FROM (SELECT movement, balance_nano FROM ${table} AS other
    WHERE other.account = numbered.account AND other.${which} AND other.movement < numbered.movement
    ORDER BY movement DESC LIMIT 1)`

/** The balance behind the last thing that moved this wallet before. */
const BALANCE_BEFORE = `COALESCE((SELECT balance_nano FROM
  (${lastOn('receipts', "kind = 'wallet'")} UNION ALL ${lastOn('transfers', "unit = 'usd'")}) ORDER BY movement DESC LIMIT 1), 0)`

/**
 * Over `numbered`: account, movement, balance_nano, and in delta_nano what moved the wallet, null for what a plan pays. Each
 * row is held to the one before it, which is final, so that the whole chain holds when every row does.
 */
export const MOVEMENT_CHECKS = {
  'movements of an account are numbered without a gap': `
    SELECT account FROM numbered WHERE movement IS NULL OR ${numberedAs('numbered.movement')} <> 1
      OR ${numberedAs('numbered.movement - 1')} <> (movement > 1)`,
  'a balance is the one before and what moved': `
    SELECT account FROM numbered WHERE (delta_nano IS NULL) <> (balance_nano IS NULL)
      OR balance_nano <> delta_nano + ${BALANCE_BEFORE}`,
} as const
