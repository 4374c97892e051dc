import { RECEIPT_KINDS, TRANSFER_UNITS } from './movements.ts'

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
export const MOVEMENT_CHECKS = {
  'movements of an account are numbered without a gap': `
    SELECT account FROM numbered WHERE movement IS NULL OR ${IS_ELSEWHERE.join(' OR ')}
      OR NOT (movement = 1 OR ${HAS_ONE_BEFORE.join(' OR ')})`,
  'a balance is the one before and what moved': `
    SELECT account FROM numbered WHERE (delta_nano IS NULL) <> (balance_nano IS NULL)
      OR (delta_nano IS NOT NULL AND balance_nano <> delta_nano + ${BALANCE_BEFORE})`,
} as const
