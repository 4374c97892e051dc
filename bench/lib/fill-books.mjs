import { recordPrices } from '../../dist/ledger/prices.js'
import { allowancesOfCaps } from '../../dist/model/allowance.js'
import { ENDING, PRICE } from './ledger-load.mjs'

/** Rows in one transaction: some hundred megabytes of WAL. */
const ROWS_AT_ONCE = 250_000
/** Of ten accounts one is on a plan with two windows, and one has a key with spend caps. All others have a wallet only. */
const ON_A_PLAN = 0
const CAPPED = 1
const { usage, cost: CHARGE } = ENDING.owed
const CREDIT = 1_000_000_000_000n
const ALLOWANCE = 40_000_000_000n
/** Behind the rows of wallets. */
const WINDOWS_FROM = 1_000_000_000
const DAY_MS = 86_400_000

const numbers = 'WITH RECURSIVE number (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM number WHERE n < ?2)'
const isOn = (share) => `n % 10 = ${share}`

const ACCOUNTS = [
  `INSERT INTO accounts (row, id, email, status, created_at)
    SELECT n, printf('acct_%012d', n), printf('bench-%d@localhost', n), 'active', 1 FROM number`,
  `INSERT INTO buckets (row, unit, kind, account, subject, posted_nano)
    SELECT 100 + n, 'usd', 'wallet', n, 'wallet', CASE WHEN ${isOn(ON_A_PLAN)} THEN 0 ELSE ${CREDIT} - ?3 * ${CHARGE} END FROM number`,
  `INSERT INTO transfers (row, kind, unit, account, ref, reason, amount_nano, at, movement, balance_nano)
    SELECT n, 'credit', 'usd', n, 'bench', 'bench', ${CREDIT}, 1, 1, ${CREDIT} FROM number WHERE NOT ${isOn(ON_A_PLAN)}`,
  `INSERT INTO entries (transfer, seq, bucket, delta_nano)
    SELECT n, 0, 100 + n, ${CREDIT} FROM number WHERE NOT ${isOn(ON_A_PLAN)}
    UNION ALL SELECT n, 1, 1, -${CREDIT} FROM number WHERE NOT ${isOn(ON_A_PLAN)}`,
  `UPDATE buckets SET posted_nano = posted_nano -
    (SELECT COALESCE(SUM(amount_nano), 0) FROM transfers WHERE row >= ?1 AND row <= ?2) WHERE row = 1`,
  ...['5h', 'month'].flatMap((name, index) => [
    `INSERT INTO buckets (row, unit, kind, account, subject, period_start, period_end, posted_nano)
      SELECT ${WINDOWS_FROM} + 2 * n + ${index}, 'quota', 'window', n, 'window:${name}', ?4, ?5, ${ALLOWANCE} - ?3 * ${CHARGE}
        FROM number WHERE ${isOn(ON_A_PLAN)}`,
    `INSERT INTO transfers (row, kind, unit, account, ref, reason, amount_nano, at, movement)
      SELECT ${WINDOWS_FROM} + 2 * n + ${index}, 'grant', 'quota', n, '${name}', 'bench', ${ALLOWANCE}, ?4, ${index + 1}
        FROM number WHERE ${isOn(ON_A_PLAN)}`,
    `INSERT INTO entries (transfer, seq, bucket, delta_nano)
      SELECT ${WINDOWS_FROM} + 2 * n + ${index}, 0, ${WINDOWS_FROM} + 2 * n + ${index}, ${ALLOWANCE} FROM number WHERE ${isOn(ON_A_PLAN)}
      UNION ALL SELECT ${WINDOWS_FROM} + 2 * n + ${index}, 1, -11, -${ALLOWANCE} FROM number WHERE ${isOn(ON_A_PLAN)}`,
  ]),
  `INSERT INTO subscriptions (row, account, plan, billing_day, started_at, ends_at)
    SELECT n, n, 'bench', 1, 1, NULL FROM number WHERE ${isOn(ON_A_PLAN)}`,
  ...['day', 'month'].map(
    (
      name,
    ) => `INSERT INTO spend_counters (account, subject, period_start, period_end, first_receipt, carried_nano, bound_nano, spent_nano, held_nano)
      SELECT n, 'cap:' || n || ':${name}', ?4, ?5, 1, 0, ${CREDIT}, ?3 * ${CHARGE}, 0 FROM number WHERE ${isOn(CAPPED)}`,
  ),
]

const RECEIPTS = `INSERT INTO receipts (row, request_id, account, key, kind, state, model, price_version, buckets, caps, hold_nano,
    output_cap, output_bound, input_estimate, opened_at, closed_at, outcome, lane, uncached_input, cached_input, cache_write,
    output, reasoning, estimated, tier, cost_nano, charge_nano, shortfall_nano, first_byte_ms, total_ms, attempts, movement, balance_nano)
  SELECT n, printf('req_%010d', n) || lower(hex(randomblob(8))), account, account,
      CASE kind WHEN ${ON_A_PLAN} THEN 'builder' ELSE 'wallet' END, 'settled', 'demo', 1,
      CASE kind WHEN ${ON_A_PLAN} THEN printf('[%d,%d]', ${WINDOWS_FROM} + 2 * account, ${WINDOWS_FROM} + 2 * account + 1)
        ELSE printf('[%d]', 100 + account) END,
      CASE kind WHEN ${CAPPED} THEN 'day month' END, ${CHARGE * 4n}, 100, 100, 40, ?4, ?4, '${ENDING.outcome}', '${ENDING.lane}',
      ${usage.uncachedInput}, 0, 0, ${usage.output}, 0, 0, 0, ${CHARGE}, ${CHARGE}, 0, ${ENDING.firstByteMs}, ${ENDING.totalMs},
      '${JSON.stringify(ENDING.attempts)}',
      CASE kind WHEN ${ON_A_PLAN} THEN 3 ELSE 2 END + earlier,
      CASE kind WHEN ${ON_A_PLAN} THEN NULL ELSE ${CREDIT} - ${CHARGE} * (1 + earlier) END
    FROM (SELECT n, 1 + (n - 1) % ?3 AS account, (1 + (n - 1) % ?3) % 10 AS kind, (n - 1) / ?3 AS earlier FROM number)`

/** What a request of this account is: who pays, and under which allowances. */
export function payerOf(account) {
  const share = account % 10
  if (share === ON_A_PLAN) return { account, kind: 'builder', plan: 'bench', allowances: WINDOWS }
  return { account, kind: 'wallet', allowances: share === CAPPED ? allowancesOfCaps(account, CAPS) : [] }
}

const WINDOWS = ['5h', 'month'].map((name) => ({
  ...{ subject: `window:${name}`, unit: 'quota', name, amount: ALLOWANCE },
  cycle: { kind: 'anchored', ms: 5 * 3_600_000 },
}))
const CAPS = { day: CREDIT, month: CREDIT }

/**
 * Books that hold, of so many accounts with as many receipts each, written by the statement and not one by one. An account's
 * receipts lie far from each other, as they do where many are served at once.
 */
export async function fillLedger({ db, file }, { accounts, receipts }) {
  if (receipts % accounts !== 0) throw new Error(`--receipts takes a multiple of ${accounts}, not ${receipts}`)
  await file.all('PRAGMA cache_size = -400000', [])
  await recordPrices({ db, now: () => 1 }, new Map([['demo', PRICE]]))
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS
  const forEach = async (statements, count, rest) => {
    for (let done = 0; done < count; done += ROWS_AT_ONCE) {
      const range = [done + 1, Math.min(done + ROWS_AT_ONCE, count)]
      await file.atomic(
        statements.map((sql) => ({
          sql: sql.startsWith('INSERT') ? withNumbers(sql) : sql,
          rows: [[...range, ...rest].slice(0, highestParameter(sql))],
        })),
      )
    }
  }
  await forEach(ACCOUNTS, accounts, [BigInt(receipts / accounts), today, today + DAY_MS])
  await forEach([RECEIPTS], receipts, [accounts, Date.now()])
  await file.all('PRAGMA cache_size = -2000', [])
}

const withNumbers = (sql) => `${numbers} ${sql}`
const highestParameter = (sql) => Math.max(2, ...[...sql.matchAll(/\?(\d)/g)].map(([, position]) => Number(position)))
