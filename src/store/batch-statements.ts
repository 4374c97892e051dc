import { insertInto, type RowStatement, updateRows } from './row-statements.ts'

/**
 * Everything that a batch writes, in this order: a period is there before anything moves on it, and closed after that.
 * What comes once in a thousand requests is spelled out; what every request writes takes several rows in one run.
 */
export const BATCH_STATEMENTS = {
  openPeriod: insertInto('buckets', ['row', 'unit', 'kind', 'account', 'subject', 'period_start', 'period_end']),
  movePeriod: { sql: `UPDATE buckets SET period_start = ?, period_end = ? WHERE row = ?`, expectChanges: 1 },
  startSubscription: insertInto('subscriptions', [
    ...(['row', 'account', 'plan', 'billing_day', 'started_at', 'ends_at'] as const),
  ]),
  endSubscription: { sql: `UPDATE subscriptions SET ends_at = ? WHERE row = ?`, expectChanges: 1 },
  openReceipt: insertInto(
    'receipts',
    [
      ...(['row', 'request_id', 'account', 'key', 'kind', 'model', 'price_version', 'buckets', 'caps'] as const),
      ...(['hold_nano', 'output_cap', 'output_bound', 'input_estimate', 'cached_estimate', 'opened_at'] as const),
    ],
    { state: "'open'" },
  ),
  closeReceipt: updateRows('receipts', {
    set: [
      ...(['state', 'closed_at', 'outcome', 'lane'] as const),
      ...(['uncached_input', 'cached_input', 'cache_write', 'output', 'reasoning', 'estimated'] as const),
      ...(['tier', 'cost_nano', 'charge_nano', 'shortfall_nano', 'first_byte_ms', 'total_ms', 'attempts'] as const),
      ...(['tokens_before', 'tokens_after', 'movement', 'balance_nano'] as const),
    ],
    // Compared in the same statement: a receipt that somebody else has closed undoes the whole batch.
    where: "receipts.state = 'open'",
  }),
  addTransfer: insertInto('transfers', [
    ...(['row', 'kind', 'unit', 'account', 'ref', 'reason', 'amount_nano', 'at', 'movement', 'balance_nano'] as const),
  ]),
  addEntry: insertInto('entries', ['transfer', 'seq', 'bucket', 'delta_nano']),
  // Whole, not by deltas: a period that follows another one begins in the same row, and one that is long over is deleted.
  setCounter: {
    sql: `INSERT INTO spend_counters (account, subject, period_start, period_end, first_receipt, carried_nano, bound_nano,
        spent_nano, held_nano) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (account, subject) DO UPDATE SET period_start = excluded.period_start, period_end = excluded.period_end,
        first_receipt = excluded.first_receipt, carried_nano = excluded.carried_nano, bound_nano = excluded.bound_nano, spent_nano = excluded.spent_nano, held_nano = excluded.held_nano`,
    expectChanges: 1,
  },
  // Deltas, not balances: the row in the file is the truth and its CHECK has the last word.
  moveBucket: updateRows('buckets', { add: ['posted_nano', 'held_nano'] }),
  closePeriod: { sql: `UPDATE buckets SET closed_at = ? WHERE row = ?`, expectChanges: 1 },
} satisfies Record<string, RowStatement>

/** In the order in which they came: a key that is given back and taken again needs its row in between. */
export const CLAIM_STATEMENTS = {
  // The key of a request whose time is over may be taken again; one that is in use or kept has the last word.
  openClaim: {
    sql: `INSERT INTO claims (receipt, scope, fingerprint, state, at, expires_at) VALUES (?, ?, ?, 'running', ?, ?)
      ON CONFLICT (scope) DO UPDATE SET receipt = excluded.receipt, fingerprint = excluded.fingerprint,
        state = excluded.state, at = excluded.at, expires_at = excluded.expires_at
        WHERE claims.state <> 'running' AND claims.expires_at <= excluded.at`,
    expectChanges: 1,
  },
  endClaim: { sql: `UPDATE claims SET state = ? WHERE receipt = ? AND state = 'running'`, expectChanges: 1 },
  dropClaim: { sql: `DELETE FROM claims WHERE receipt = ? AND state = 'running'`, expectChanges: 1 },
} satisfies Record<string, RowStatement>

export const REPLACE_MARK: RowStatement = {
  sql: `INSERT INTO marks (node, at, packed) VALUES (?, ?, ?)
    ON CONFLICT (node) DO UPDATE SET at = excluded.at, packed = excluded.packed`,
}
