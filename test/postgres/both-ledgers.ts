import { asJson } from '../../src/db/postgres/pool.ts'
import { type AdmitRow, type CloseRow, createSeenLimits, refusalOf } from '../../src/ledger/postgres/core.ts'
import { allowanceStatusOf } from '../../src/ledger/state/allowances.ts'
import {
  assignPlan,
  endPlan,
  type PlanOutcome,
  type TransferMoney,
  transferMoney,
} from '../../src/ledger/state/operator-commands.ts'
import {
  type Change,
  createAccountState,
  createLedgerState,
  type LedgerState,
  PERIOD_ROWS_FROM,
  type Subscription,
} from '../../src/ledger/state/state.ts'
import { limitStatusesOf } from '../../src/ledger/state/turn-limits.ts'
import { type AdmitOutcome, type AdmitRequest, admitTurn, closeTurn } from '../../src/ledger/state/turns.ts'
import type { Allowance } from '../../src/model/allowance.ts'
import type { Ending } from '../../src/model/ending.ts'
import type { AccountRow, BucketRow, RequestId } from '../../src/model/ids.ts'
import type { CompactedTokens } from '../../src/model/turn.ts'
import { compactionOf } from '../fixtures/ledger/contract-bench.ts'
import type { PostgresLedgerState } from './postgres-ledger.ts'

export interface CloseRequest {
  readonly requestId: RequestId
  readonly charge: Ending['owed']
  readonly kept: boolean
  readonly compaction: CompactedTokens | undefined
}

/** The two that must agree: the reducer in memory, and the functions of the database. Each operation answers for both. */
export async function createBothLedgers(
  postgres: PostgresLedgerState,
  accounts: readonly AccountRow[],
  scopes: readonly string[],
) {
  const { pool } = postgres
  const call = async <Result>(words: string, values: readonly unknown[]): Promise<Result> =>
    (await pool.query(`SELECT ${words} AS result`, values as unknown[])).rows[0].result
  const ledgerState: LedgerState = createLedgerState({
    receipt: 1,
    transfer: 1,
    bucket: PERIOD_ROWS_FROM,
    subscription: 1,
  })
  for (const account of accounts) {
    const found = await pool.query(`SELECT row::integer FROM buckets WHERE kind = 'wallet' AND account = $1`, [account])
    ledgerState.accounts.set(
      account,
      createAccountState(account, { row: found.rows[0].row as BucketRow, posted: 0n, held: 0n }),
    )
  }
  for (const scope of scopes) ledgerState.claims.set(scope, undefined)
  /** What has closed or moved since the last look, by the reducer. */
  let moved: Movement[] = []
  let compared = accounts.map(() => 0)
  const remember = (outcome: { readonly changes?: readonly Change[] } | { readonly kind: string }) => {
    if ('changes' in outcome) moved.push(...(outcome.changes ?? []).flatMap(movementIn))
  }
  const refs = new Map<string, bigint>()
  const node = Number(await call<string>('begin_node($1)', [2 ** 50]))
  let micros = 0
  let closings = 0

  const compactionsOf = async (requests: readonly RequestId[]): Promise<Map<string, CompactedTokens | undefined>> => {
    const { rows } = await pool.query(COMPACTIONS, [requests as RequestId[]])
    return new Map(rows.map(({ id, before, after }) => [id, compactionOf(before, after) ?? undefined]))
  }

  return {
    async setClock(ms: number) {
      micros = ms * 1000
      await postgres.setClock({ micros })
    },
    /** In one call, the closes first. */
    async run(closes: readonly CloseRequest[], turns: readonly AdmitRequest[]) {
      const at = { at: micros / 1000, nowMicros: micros }
      const expectedCloses = closes.map((request) => {
        const closed = closeTurn(ledgerState, { requestId: request.requestId, ending: endingOf(request), ...at })
        if (closed.kind !== 'closed') return closed.kind
        remember(closed)
        return { charge: closed.charge, shortfall: closed.shortfall, compaction: compactionIn(closed.changes) }
      })
      const expectedAdmissions = turns.map((turn) => {
        const outcome = admitTurn(ledgerState, turn, at)
        remember(outcome)
        const recorded = 'changes' in outcome ? recordedIn(outcome.changes) : undefined
        return {
          outcome: withoutChanges(outcome),
          recorded,
          statuses: limitStatusesOf(ledgerState, turn.limits, micros),
        }
      })
      const ops = closes.map((request) => {
        const { owed, ...ending } = endingOf(request)
        const { requestId } = request
        return { ...ending, ...owed, requestId, attempts: '[]', closing: `${++closings}`, recovers: false }
      })
      const rows = await call<{ closes: CloseRow[]; admissions: AdmitRow[] }>('run_turns($1, $2, $3)', [
        asJson(turns),
        asJson(ops),
        node,
      ])
      const compactions = await compactionsOf(closes.map(({ requestId }) => requestId))
      const foundCloses = rows.closes.map((row, index) => {
        if (row.kind === 'not-open') return row.kind
        const compaction = compactions.get(closes[index]!.requestId)
        return { charge: BigInt(row.charge), shortfall: BigInt(row.shortfall), compaction }
      })
      const { rows: receipts } = await pool.query(RECORDED, [turns.map(({ requestId }) => requestId as string)])
      const foundAdmissions = rows.admissions.map((row, index) => ({
        outcome: outcomeOf(turns[index]!, row),
        recorded: receipts.find(({ id }) => row.kind === 'held' && id === turns[index]!.requestId)?.recorded,
        statuses: createSeenLimits(() => micros).learn(turns[index]!.limits, row),
      }))
      return {
        expected: { closes: expectedCloses, admissions: expectedAdmissions },
        found: { closes: foundCloses, admissions: foundAdmissions },
      }
    },
    async transfer(order: Omit<TransferMoney, 'at'>) {
      const name = `${order.account} ${order.kind} ${order.ref}`
      const known = refs.get(name)
      const decided = known === undefined ? transferMoney(ledgerState, { ...order, at: micros / 1000 }) : undefined
      if (decided) remember(decided)
      const expected = decided?.kind ?? (known === order.amount ? 'exists' : 'ref-taken')
      if (expected === 'transferred') refs.set(name, order.amount)
      const { kind } = await call<{ kind: string }>('transfer_money($1)', [asJson(order)])
      return { expected, found: kind === 'credited' ? 'transferred' : kind }
    },
    async assign(order: {
      account: AccountRow
      plan: string
      windows: readonly Allowance[]
      endsAt: number | undefined
    }) {
      const assigned = assignPlan(ledgerState, { ...order, at: micros / 1000 })
      remember(assigned)
      return { expected: planOf(assigned), found: planOf(await call<PlanOutcome>('assign_plan($1)', [asJson(order)])) }
    },
    async end(account: AccountRow, endsAt: number) {
      const expected = planOf(endPlan(ledgerState, { account, endsAt, at: micros / 1000 }))
      return { expected, found: planOf(await call<PlanOutcome>('end_plan($1, $2)', [account, endsAt])) }
    },
    async freeze(account: AccountRow, frozen: boolean) {
      ledgerState.accounts.get(account)!.frozen = frozen
      await pool.query('UPDATE accounts SET frozen_at = $2 WHERE row = $1', [account, frozen ? 1 : null])
    },
    /** Everything that decisions look at. */
    async state(allowances: readonly Allowance[]) {
      const reports = await Promise.all(
        accounts.map((account) =>
          call<{ draws: unknown[] }>('allowance_report($1, $2)', [account, asJson(allowances)]),
        ),
      )
      const buckets = (await pool.query(BUCKETS)).rows.map((row) => JSON.stringify(row))
      const movements = (await pool.query(MOVEMENTS, [accounts, compared])).rows.map(({ words }) => words as string)
      compared = accounts.map((account) => ledgerState.accounts.get(account)!.movements)
      const since = numbered(moved).sort()
      moved = []
      const periods = [...ledgerState.accounts.values()].flatMap((account) => [...account.periods.values()])
      return {
        ends: periods.map(({ end }) => end),
        expected: {
          buckets: bucketsOf(ledgerState).sort(),
          movements: since,
          statuses: accounts.map((account) => standingsIn(ledgerState, account, allowances, micros / 1000)),
        },
        found: { buckets: buckets.sort(), movements: movements.sort(), statuses: reports.map(({ draws }) => draws) },
      }
    },
  }
}

const endingOf = ({ charge: owed, kept, compaction }: CloseRequest): Ending => ({
  ...{ outcome: 'completed', owed, kept, compaction },
  ...{ lane: undefined, attempts: [], firstByteMs: undefined, totalMs: 1 },
})

const withoutChanges = (outcome: AdmitOutcome) => {
  if (outcome.kind !== 'held') return outcome
  const { kind, receipt, cap, heldAmount } = outcome
  return { kind, receipt, cap, hold: heldAmount }
}

function outcomeOf(turn: AdmitRequest, row: AdmitRow) {
  if (row.kind !== 'held') return refusalOf(turn, row)
  const { kind, receipt, cap, hold } = row
  return { kind, receipt, cap, hold: BigInt(hold) }
}

function planOf(outcome: PlanOutcome) {
  if (outcome.kind === 'no-subscription') return outcome.kind
  const { row, plan, billingDay, startedAt, endsAt }: Subscription = outcome.subscription
  return { kind: outcome.kind, row, plan, billingDay, startedAt, endsAt: endsAt ?? null }
}

/** What the row of a receipt says while it is open. */
function recordedIn(changes: readonly Change[]): string | undefined {
  const opened = changes.find((change) => change.kind === 'receipt-opened')
  if (opened === undefined) return undefined
  const { account, key, keyKind, model, priceVersion, caps, heldAmount, cap, outputBound, at } = opened
  const { inputEstimate, cachedEstimate } = opened
  return [
    ...[account, key, keyKind, model, priceVersion, caps.join(' '), heldAmount, cap, outputBound],
    ...[inputEstimate, cachedEstimate, at],
  ].join('|')
}

const RECORDED = `SELECT request_id AS id, concat_ws('|', account, key, kind, model, price_version, coalesce(caps, ''), hold_nano,
    output_cap, output_bound, input_estimate, cached_estimate, opened_at) AS recorded
  FROM receipts WHERE request_id = ANY ($1)`

const compactionIn = (changes: readonly Change[]): CompactedTokens | undefined =>
  changes.find((change) => change.kind === 'receipt-closed')?.ending.compaction

const COMPACTIONS = `SELECT request_id AS id, tokens_before::integer AS before, tokens_after::integer AS after
  FROM receipts WHERE request_id = ANY ($1)`

/**
 * Everything that has come on these accounts since so many of each. The database numbers what expires with a batch of closes behind
 * all of them, so it is compared without its place.
 */
const MOVEMENTS = `
  WITH seen AS (SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS seen (account, movements)),
    moved AS (
      SELECT account, movement, concat_ws(' ', 'receipt', row, balance_nano) AS words, false AS expires
        FROM receipts JOIN seen USING (account) WHERE movement > movements
      UNION ALL
      SELECT account, movement, concat_ws(' ', account, unit, kind, amount_nano, balance_nano), kind = 'expiry'
        FROM transfers JOIN seen USING (account) WHERE movement > movements)
  SELECT words || CASE WHEN expires THEN '' ELSE ', ' || row_number() OVER (PARTITION BY account, expires ORDER BY movement) END
    AS words FROM moved`

interface Movement {
  readonly account: AccountRow
  readonly words: string
  readonly expires: boolean
}

/** In the words of the query above. */
function movementIn(change: Change): Movement[] {
  const words = (...parts: unknown[]) => parts.filter((part) => part !== undefined).join(' ')
  const { kind } = change
  if (kind === 'receipt-closed') {
    const { account, receipt, balance } = change
    return [{ account, words: words('receipt', receipt, balance), expires: false }]
  }
  if (kind !== 'transferred') return []
  const { account, unit, transferKind, amount, balance } = change
  return [{ account, words: words(account, unit, transferKind, amount, balance), expires: transferKind === 'expiry' }]
}

function numbered(moved: readonly Movement[]): string[] {
  const places = new Map<AccountRow, number>()
  return moved.map(({ account, words, expires }) => {
    if (expires) return words
    places.set(account, (places.get(account) ?? 0) + 1)
    return `${words}, ${places.get(account)}`
  })
}

const BUCKETS = `SELECT account::integer, subject, period_start::text AS start, period_end::text AS end,
    CASE kind WHEN 'wallet' THEN '0' ELSE granted_nano::text END AS granted, posted_nano::text AS posted, held_nano::text AS held
  FROM buckets WHERE kind <> 'system' AND closed_at IS NULL
  UNION ALL SELECT account::integer, subject, period_start::text, period_end::text, bound_nano::text, spent_nano::text,
    held_nano::text FROM spend_counters`

const bucketsOf = (ledgerState: LedgerState): string[] =>
  [...ledgerState.accounts.values()].flatMap(({ account, wallet, periods, counters, endedWithHolds }) => [
    JSON.stringify({
      ...{ account, subject: 'wallet', start: null, end: null, granted: '0' },
      ...{ posted: String(wallet.posted), held: String(wallet.held) },
    }),
    ...[...periods.values(), ...endedWithHolds].map(({ subject, start, end, granted, posted, held }) =>
      JSON.stringify({
        ...{ account, subject, start: String(start), end: String(end), granted: String(granted) },
        ...{ posted: String(posted), held: String(held) },
      }),
    ),
    ...[...counters.values()].map(({ subject, start, end, bound, spent, held }) =>
      JSON.stringify({
        ...{ account, subject, start: String(start), end: String(end), granted: String(bound) },
        ...{ posted: String(spent), held: String(held) },
      }),
    ),
  ])

const standingsIn = (ledgerState: LedgerState, account: AccountRow, allowances: readonly Allowance[], at: number) =>
  allowances.map((allowance) => {
    const { period, granted, posted, held } = allowanceStatusOf(ledgerState.accounts.get(account)!, allowance, at)
    return { ...period, granted: String(granted), posted: String(posted), held: String(held) }
  })
