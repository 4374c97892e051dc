import { ENDING } from './ledger-load.mjs'

/** Rows in one transaction: some hundred megabytes of WAL. */
const ROWS_AT_ONCE = 250_000
/** How long ago the oldest receipt was closed, and what each took. */
const AGE_MS = 30 * 86_400_000
const { usage, cost: CHARGE } = ENDING.owed

const FILL = `WITH RECURSIVE number (row) AS (SELECT ? UNION ALL SELECT row + 1 FROM number WHERE row < ?)
  INSERT INTO receipts (row, request_id, account, key, kind, state, model, price_version, buckets, hold_nano, output_cap,
      output_bound, input_estimate, opened_at, closed_at, outcome, lane, uncached_input, cached_input, cache_write, output,
      reasoning, estimated, tier, cost_nano, charge_nano, shortfall_nano, first_byte_ms, total_ms, attempts, movement, balance_nano)
    SELECT number.row, printf('req_%010d', number.row) || lower(hex(randomblob(8))), wallet.account, 1, 'wallet',
      'settled', 'demo', 1, '[' || wallet.row || ']', ${CHARGE * 4n}, 100, 100, 40, ?, ?, '${ENDING.outcome}',
      '${ENDING.lane}', ${usage.uncachedInput}, 0, 0, ${usage.output}, 0, 0, 0, ${CHARGE}, ${CHARGE}, 0,
      ${ENDING.firstByteMs}, ${ENDING.totalMs}, '${JSON.stringify(ENDING.attempts)}',
      -- Behind its credit, each account has every so manieth receipt.
      2 + (number.row - 1) / ?5, credit.amount_nano - ${CHARGE} * (1 + (number.row - 1) / ?5)
    FROM number JOIN buckets AS wallet ON wallet.kind = 'wallet' AND wallet.account = 1 + number.row % ?5
      JOIN transfers AS credit ON credit.account = wallet.account`

const PAY = `UPDATE buckets SET posted_nano = posted_nano - ? WHERE kind = 'wallet'`
const EARN = `UPDATE buckets SET posted_nano = posted_nano + ? WHERE kind = 'system' AND subject = 'revenue'`

/**
 * Writes closed receipts into a ledger that balances. One statement writes many; a server writes them one by one.
 * The accounts are those with the rows 1 to `accounts`, and each gets as many as every other.
 */
export async function fillLedger({ file }, { receipts, accounts }) {
  if (receipts % accounts !== 0) throw new Error(`--receipts takes a multiple of ${accounts}, not ${receipts}`)
  const rowsAtOnce = ROWS_AT_ONCE - (ROWS_AT_ONCE % accounts)
  const began = Date.now() - AGE_MS
  for (let done = 0; done < receipts; done += rowsAtOnce) {
    const rows = Math.min(rowsAtOnce, receipts - done)
    const at = began + Math.floor((AGE_MS * done) / receipts)
    const paid = CHARGE * BigInt(rows)
    await file.atomic([
      { sql: FILL, rows: [[done + 1, done + rows, at, at + ENDING.totalMs, accounts]], expectChanges: rows },
      { sql: PAY, rows: [[paid / BigInt(accounts)]], expectChanges: accounts },
      { sql: EARN, rows: [[paid]], expectChanges: 1 },
    ])
  }
}
