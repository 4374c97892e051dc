import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { PostgresPool } from '../../src/db/postgres/pool.ts'
import type { AdmittedTurn, Ledger } from '../../src/ledger/ledger.ts'
import type { AdmitRequest } from '../../src/ledger/state/turns.ts'
import type { AccountRow } from '../../src/model/ids.ts'
import { dayCap, HOLD, HOUR, hours, limitOf, requestFor, usd } from '../fixtures/ledger/contract-bench.ts'
import { settlement } from '../fixtures/model/ending.ts'
import { openNode } from './postgres-bench.ts'
import { createPostgresLedgerState, type PostgresLedgerState, postgres } from './postgres-ledger.ts'

const NODES = 4
const TURNS = 400
const STEP_MS = 100

/** Several nodes compete; the database admits as many turns as there is room for, and never one more. */
describe.skipIf(!postgres)('four nodes at once', () => {
  let ledgerState: PostgresLedgerState
  let account: AccountRow
  let nodes: Ledger[]

  beforeEach(async () => {
    ledgerState = await createPostgresLedgerState()
    account = await ledgerState.addAccount()
    const opened = Array.from({ length: NODES }, () => openNode(ledgerState.connect(2) as PostgresPool))
    nodes = (await Promise.all(opened)).map(({ ledger }) => ledger)
  })
  afterEach(async () => {
    expect(await ledgerState.violations()).toEqual([])
    await Promise.all(nodes.map((node) => node.close()))
    await ledgerState.close()
  })

  const credit = (amount: bigint) =>
    nodes[0]!.credit({ account, kind: 'credit', amount: usd(amount), reason: 'test', ref: 'first' })

  /** All nodes at once, in turn. Settles admitted turns with half of the hold. */
  async function storm(over: (turn: number) => Partial<AdmitRequest>, charge = HOLD / 2n) {
    const refusals = new Map<string, number>()
    const admitted: AdmittedTurn[] = []
    const ask = async (turn: number) => {
      const admission = await nodes[turn % NODES]!.admit(requestFor(account, over(turn)))
      if (admission.kind === 'admitted') admitted.push(admission)
      else refusals.set(admission.refusal.kind, (refusals.get(admission.refusal.kind) ?? 0) + 1)
    }
    await Promise.all(Array.from({ length: TURNS }, (_, turn) => ask(turn)))
    const settled = await Promise.all(admitted.map((turn) => turn.settle(settlement(charge))))
    expect(settled.every(({ kind }) => kind === 'settled')).toBe(true)
    return { admitted: admitted.length, refusals: Object.fromEntries(refusals) }
  }

  it('on a wallet that affords a hundred: a hundred are admitted, and the sum is exact', async () => {
    await credit(HOLD * 100n + HOLD - 1n)
    expect(await storm(() => ({}))).toEqual({ admitted: 100, refusals: { 'in-flight': TURNS - 100 } })
    expect(await nodes[1]!.accountStatus(account)).toMatchObject({ balance: HOLD * 51n - 1n, held: 0n })
  })

  it('under steady demand for more than a limit: never more in any time than it allows, and hardly less', async () => {
    await credit(HOLD * 1000n)
    const [perMinute, burst] = [300, 30]
    const limit = { ...limitOf('requests', perMinute), burst }
    const begin = Date.UTC(2026, 10, 1)
    const admittedAt: number[] = []
    // A minute, in steps in which every node asks once: eight times as often as the limit allows.
    for (let at = 0; at < 60_000; at += STEP_MS) {
      await ledgerState.setClock({ micros: (begin + at) * 1000 })
      const asked = nodes.map((node) => node.admit(requestFor(account, { limits: [limit] })))
      for (const admission of await Promise.all(asked)) {
        if (admission.kind !== 'admitted') continue
        admittedAt.push(at)
        await admission.settle(settlement(1n))
      }
    }
    for (const [first, from] of admittedAt.entries()) {
      for (let last = first; last < admittedAt.length; last++) {
        const overBurst = last - first + 1 - burst
        expect(overBurst * 60_000).toBeLessThanOrEqual((admittedAt[last]! - from) * perMinute)
      }
    }
    expect(admittedAt.length).toBeGreaterThanOrEqual(0.98 * (perMinute + burst))
  })

  it('spending a wallet to its end: it is never below zero, and nothing is lost', async () => {
    await credit(HOLD * 60n)
    let spent = 0
    const spend = async (node: Ledger) => {
      for (let turn = 0; turn < 40; turn++) {
        const admission = await node.admit(requestFor(account))
        if (admission.kind !== 'admitted') continue
        await admission.settle(settlement(HOLD))
        spent++
      }
    }
    await Promise.all(nodes.flatMap((node) => [spend(node), spend(node)]))
    expect(spent).toBe(60)
    expect(await nodes[0]!.accountStatus(account)).toEqual({ balance: 0n, held: 0n, available: 0n })
  })

  it('on one unopened window: it is opened once, and holds what it grants', async () => {
    const allowances = [hours(5, HOLD * 30n), dayCap(HOLD * 25n)]
    await nodes[0]!.assignPlan({ account, plan: 'builder', windows: [hours(5, HOLD * 30n)], endsAt: undefined })
    expect((await storm(() => ({ kind: 'builder', allowances }))).admitted).toBe(25)
    const { rows } = await ledgerState.pool.query(
      `SELECT (SELECT count(*)::integer FROM buckets WHERE kind = 'window') AS windows,
        (SELECT count(*)::integer FROM spend_counters) AS counters`,
    )
    expect(rows).toEqual([{ windows: 1, counters: 1 }])
    const { statuses } = await nodes[3]!.allowanceStatuses(account, allowances)
    expect(statuses).toMatchObject([
      { posted: HOLD * 30n - (HOLD / 2n) * 25n, held: 0n },
      { posted: HOLD * 25n - (HOLD / 2n) * 25n, held: 0n },
    ])
  })

  it('on a cap and a wallet: both hold the same turns', async () => {
    await credit(HOLD * 1000n)
    const { admitted, refusals } = await storm(() => ({ allowances: [dayCap(HOLD * 17n + 3n)] }))
    expect({ admitted, refusals }).toEqual({ admitted: 17, refusals: { 'in-flight': TURNS - 17 } })
    expect(await nodes[0]!.accountStatus(account)).toMatchObject({ balance: HOLD * 1000n - (HOLD / 2n) * 17n })
  })

  it('with one idempotency key each four times: each key is taken by one', async () => {
    await credit(HOLD * 1000n)
    const claim = (turn: number) => ({
      scope: `key ${Math.floor(turn / NODES)}`,
      fingerprint: 'print',
      expiresAt: Date.UTC(2100, 0),
    })
    const { admitted, refusals } = await storm((turn) => ({ claim: claim(turn) }))
    expect({ admitted, refusals }).toEqual({ admitted: TURNS / NODES, refusals: { claimed: TURNS - TURNS / NODES } })
  })

  it('under limits that they share: as many pass as the limit says', async () => {
    await credit(HOLD * 1000n)
    // An hour for one request more, so that none is earned back while the test runs.
    const slow = { ...limitOf('requests', 60_000 / HOUR), burst: 40 }
    expect((await storm(() => ({ limits: [slow] }))).admitted).toBe(40)
    expect((await storm(() => ({ limits: [limitOf('concurrent', 23)] }))).admitted).toBe(23)
  })

  it('on accounts and limits in any mixture: there is no deadlock', async () => {
    await credit(HOLD * 1000n)
    const others = await Promise.all(Array.from({ length: 5 }, () => ledgerState.addAccount()))
    for (const other of others) {
      await nodes[0]!.credit({
        account: other,
        kind: 'credit',
        amount: usd(HOLD * 1000n),
        reason: 'test',
        ref: 'first',
      })
    }
    const payers = [account, ...others]
    const subjects = Array.from({ length: 7 }, (_, number) => ({
      ...limitOf('concurrent', 1000),
      subject: `s${number}`,
    }))
    const mixed = (turn: number) => ({
      account: payers[(turn * 7) % payers.length]!,
      limits: [subjects[(turn * 5) % 7]!, subjects[(turn * 3 + 1) % 7]!].filter(
        (each, at, all) => all.indexOf(each) === at,
      ),
    })
    expect((await storm(mixed)).admitted).toBe(TURNS)
    const { rows } = await ledgerState.pool.query(
      'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
    )
    expect(Number(rows[0].deadlocks)).toBe(0)
  })
})
