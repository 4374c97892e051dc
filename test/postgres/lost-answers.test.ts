import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { PostgresPool } from '../../src/db/postgres/pool.ts'
import type { AccountRow } from '../../src/model/ids.ts'
import { HOLD, limitOf, requestFor, usd } from '../fixtures/ledger/contract-bench.ts'
import { settlement } from '../fixtures/model/ending.ts'
import { cuttable, LEASE_MS, openNode } from './postgres-bench.ts'
import { createPostgresLedgerState, type PostgresLedgerState, postgres } from './postgres-ledger.ts'

/** Runs calls, and loses the answers of the next calls of this function, as a connection that dies in a commit. */
function forgetful(pool: PostgresPool) {
  const lost = new Map<string, number>()
  return {
    lose: (call: string, times: number) => void lost.set(call, times),
    pool: {
      async query(text: string, values?: readonly unknown[]) {
        const answer = await pool.query(text, values)
        const call = [...lost.keys()].find((each) => text.includes(`${each}(`)) ?? ''
        const times = lost.get(call) ?? 0
        if (times === 0) return answer
        lost.set(call, times - 1)
        throw new Error('Connection terminated unexpectedly')
      },
    },
  }
}

describe.skipIf(!postgres)('when the answer of the database is lost', () => {
  let ledgerState: PostgresLedgerState
  let account: AccountRow
  let connection: ReturnType<typeof forgetful>
  let node: Awaited<ReturnType<typeof openNode>>

  beforeEach(async () => {
    ledgerState = await createPostgresLedgerState()
    account = await ledgerState.addAccount()
    connection = forgetful(ledgerState.connect(4, 'node') as PostgresPool)
    node = await openNode(connection.pool)
    await node.ledger.credit({ account, kind: 'credit', amount: usd(HOLD * 10n), reason: 'test', ref: 'first' })
  })
  afterEach(async () => {
    expect(await ledgerState.violations()).toEqual([])
    await node.ledger.close()
    await ledgerState.close()
  })

  const admit = async () => {
    const admission = await node.ledger.admit(requestFor(account, { limits: [limitOf('concurrent', 5)] }))
    if (admission.kind !== 'admitted') throw new Error(`refused: ${admission.refusal.kind}`)
    return admission
  }

  it('a batch of admissions is sent again, and holds once', async () => {
    connection.lose('run_turns', 2)
    const turns = await Promise.all([admit(), admit(), admit()])
    expect(turns.map(({ heldAmount }) => heldAmount)).toEqual([HOLD, HOLD, HOLD])
    expect(node.facts.troubles).not.toEqual([])
    expect((await node.ledger.accountStatus(account)).held).toBe(HOLD * 3n)
    expect(turns[0]?.statuses).toMatchObject([{ kind: 'concurrent', remaining: 2 }])
  })

  it('a settle is retried, charges once, and learns what it charged', async () => {
    const turn = await admit()
    connection.lose('run_turns', 2)
    expect(await turn.settle(settlement(9n))).toEqual({ kind: 'settled', charge: 9n, shortfall: 0n, tier: 0 })
    expect(await node.ledger.accountStatus(account)).toMatchObject({ balance: HOLD * 10n - 9n, held: 0n })
  })

  it('a slice of a shared limit is asked for again, and taken once', async () => {
    connection.lose('take_slices', 2)
    // An hour for one request more.
    const limits = [{ ...limitOf('requests', 1 / 60), burst: 5, scope: 'model' as const }]
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => node.ledger.admit(requestFor(account, { limits }))),
    )
    expect(outcomes.filter(({ kind }) => kind === 'admitted')).toHaveLength(5)
    expect(node.facts.troubles).not.toEqual([])
  })

  it('a credit is sent again, and counts once', async () => {
    connection.lose('transfer_money', 1)
    const order = { account, kind: 'credit' as const, amount: usd(5n), reason: 'test', ref: 'second' }
    expect((await node.ledger.credit(order)).kind).toBe('exists')
    expect((await node.ledger.accountStatus(account)).balance).toBe(HOLD * 10n + 5n)
  })

  it('for longer than the retries, no turn is admitted, and the placed hold is swept', async () => {
    const impatient = await openNode(connection.pool, { retryMs: 0 })
    connection.lose('run_turns', 1)
    const { kind, refusal } = (await impatient.ledger.admit(requestFor(account))) as { kind: string; refusal: unknown }
    expect({ kind, refusal }).toEqual({ kind: 'refused', refusal: { kind: 'unavailable' } })
    expect(impatient.ledger.gate.open).toBe(false)
    expect((await impatient.ledger.accountStatus(account)).held).toBe(HOLD)
    expect(impatient.ledger.gate.open).toBe(true)
    expect(await impatient.ledger.sweep()).toBe(1)
    expect((await impatient.ledger.accountStatus(account)).held).toBe(0n)
    await impatient.ledger.close()
  })

  it('because its connections are killed again and again, the ledger stays exact', async () => {
    const killer = ledgerState.connect(1)
    let kills = 0
    let turns = 0
    const killUntil = async (isOver: () => boolean) => {
      for (let before = -1; !isOver(); ) {
        // On a slow machine no call would come to its end within the retries if nothing had to happen between two kills.
        if (turns > before) {
          before = turns
          kills += (await killer.query(KILL)).rows.length
        }
        await new Promise((resolve) => setTimeout(resolve, 30))
      }
    }
    let charged = 0n
    let unheard = 0
    let isOver = false
    const spend = async () => {
      for (let turn = 0; turn < 60; turn++) {
        const admission = await node.ledger.admit(requestFor(account))
        if (admission.kind !== 'admitted') {
          await new Promise((resolve) => setTimeout(resolve, 5))
          continue
        }
        const settled = await admission.settle(settlement(100n))
        admission.detach()
        turns++
        if (settled.kind === 'settled') charged += settled.charge
        else unheard++
      }
    }
    const killing = killUntil(() => isOver)
    await Promise.all(Array.from({ length: 8 }, spend))
    isOver = true
    await killing
    // A hold whose result did not arrive within the retries was refused, and stays until it is swept.
    const swept = await node.ledger.sweep()
    const { rows } = await killer.query(
      'SELECT count(*)::integer AS receipts, coalesce(sum(charge_nano), 0)::text AS delivered FROM millrace.receipts',
    )
    const { receipts, delivered } = rows[0]
    console.log(
      `${kills} kills, ${node.facts.troubles.length} calls sent again, ${receipts} receipts, ${charged} charged, ${swept} swept, ${unheard} settles unheard`,
    )
    expect(kills).toBeGreaterThan(0)
    expect(charged).toBeGreaterThan(0n)
    expect(await node.ledger.accountStatus(account)).toMatchObject({
      balance: HOLD * 10n - BigInt(delivered),
      held: 0n,
    })
    // A settle without an answer may have been charged.
    expect(BigInt(delivered) - charged).toBeGreaterThanOrEqual(0n)
    expect(BigInt(delivered) - charged).toBeLessThanOrEqual(100n * BigInt(unheard))
  })

  it('one turn that the database cannot read does not take the others with it', async () => {
    const unknown = node.ledger.admit(requestFor(999_999 as AccountRow))
    const [failed, turn] = await Promise.allSettled([unknown, admit()])
    expect(failed).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining('no wallet') } })
    expect(turn.status).toBe('fulfilled')
  })
})

// Only the node's own connections.
const KILL = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'node' AND random() < 0.5`

describe.skipIf(!postgres)('a node that was away for longer than its lease', () => {
  it('finds its turns ended by another one, charged by their marks, and says nothing of an end', async () => {
    const ledgerState = await createPostgresLedgerState()
    const account = await ledgerState.addAccount()
    const paused = cuttable(ledgerState.connect() as PostgresPool)
    const first = await openNode(paused.pool)
    await first.ledger.credit({ account, kind: 'credit', amount: usd(HOLD * 10n), reason: 'test', ref: 'first' })
    const admission = await first.ledger.admit(requestFor(account))
    if (admission.kind !== 'admitted') throw new Error('refused')
    admission.mark(3)
    await expect.poll(async () => (await ledgerState.pool.query('SELECT FROM marks')).rows.length).toBe(1)

    const second = await openNode(ledgerState.connect() as PostgresPool)
    expect(await second.ledger.sweep()).toBe(0)
    await ledgerState.setClock({ aheadMs: LEASE_MS })
    const third = await openNode(ledgerState.connect() as PostgresPool)
    expect(third.facts.recovered).toBe(1)

    admission.detach()
    expect(first.ledger.openHolds).toBe(1)
    await first.ledger.sweep()
    expect(first.ledger.openHolds).toBe(0)
    expect(await admission.settle(settlement(20_000n))).toEqual({ kind: 'not-ours', isReleased: false })
    expect(await third.ledger.accountStatus(account)).toMatchObject({
      balance: HOLD * 10n - 40_000n - 15_000n,
      held: 0n,
    })
    const late = await first.ledger.admit(requestFor(account))
    expect(late).toMatchObject({ kind: 'refused', refusal: { kind: 'unavailable' } })
    expect(await ledgerState.violations()).toEqual([])
    await Promise.all([first, second, third].map(({ ledger }) => ledger.close()))
    await ledgerState.close()
  })

  it('learns that its turn was released, so that its late answer can be kept from readers', async () => {
    const ledgerState = await createPostgresLedgerState()
    const account = await ledgerState.addAccount()
    const first = await openNode(ledgerState.connect() as PostgresPool)
    await first.ledger.credit({ account, kind: 'credit', amount: usd(HOLD * 10n), reason: 'test', ref: 'first' })
    const admission = await first.ledger.admit(requestFor(account))
    if (admission.kind !== 'admitted') throw new Error('refused')
    await ledgerState.setClock({ aheadMs: LEASE_MS })
    const second = await openNode(ledgerState.connect() as PostgresPool)
    expect(second.facts.recovered).toBe(1)
    expect(await admission.settle(settlement(20_000n))).toEqual({ kind: 'not-ours', isReleased: true })
    expect(await second.ledger.accountStatus(account)).toMatchObject({ balance: HOLD * 10n, held: 0n })
    await Promise.all([first, second].map(({ ledger }) => ledger.close()))
    await ledgerState.close()
  })

  it('writes nothing when it comes back before another one has looked, and its turns are charged by their marks', async () => {
    const ledgerState = await createPostgresLedgerState()
    const account = await ledgerState.addAccount()
    const { ledger } = await openNode(ledgerState.connect() as PostgresPool)
    await ledger.credit({ account, kind: 'credit', amount: usd(HOLD * 10n), reason: 'test', ref: 'first' })
    const admission = await ledger.admit(requestFor(account))
    if (admission.kind !== 'admitted') throw new Error('refused')
    admission.mark(3)
    await expect.poll(async () => (await ledgerState.pool.query('SELECT FROM marks')).rows.length).toBe(1)
    await ledgerState.setClock({ aheadMs: LEASE_MS })

    expect(await admission.settle(settlement(20_000n))).toEqual({ kind: 'not-ours', isReleased: false })
    expect((await ledger.accountStatus(account)).held).toBe(HOLD)
    admission.detach()
    expect(await ledger.sweep()).toBe(1)
    expect(await ledger.accountStatus(account)).toMatchObject({ balance: HOLD * 10n - 40_000n - 15_000n, held: 0n })
    expect(await ledgerState.violations()).toEqual([])
    await ledger.close()
    await ledgerState.close()
  })

  it('goes on marking after it, and its turns are charged by the newest of their marks', async () => {
    const ledgerState = await createPostgresLedgerState()
    const account = await ledgerState.addAccount()
    const { ledger, facts } = await openNode(ledgerState.connect() as PostgresPool, { leaseMs: 300 })
    await ledger.credit({ account, kind: 'credit', amount: usd(HOLD * 10n), reason: 'test', ref: 'first' })
    const admission = await ledger.admit(requestFor(account))
    if (admission.kind !== 'admitted') throw new Error('refused')
    const marks = async () => (await ledgerState.pool.query('SELECT FROM marks')).rows.length
    expect(admission.mark(3)).toBe(true)
    await expect.poll(marks).toBe(1)
    await ledgerState.setClock({ aheadMs: 1000 })
    await expect.poll(() => facts.leasesLost).toBe(1)
    expect(admission.mark(5)).toBe(false)
    await expect.poll(marks).toBe(2)
    expect(await admission.settle(settlement(20_000n))).toEqual({ kind: 'not-ours', isReleased: false })
    // The process dies, and another node tidies up before it looks.
    await ledgerState.setClock({ aheadMs: 5000 })
    await ledgerState.pool.query('SELECT tidy_ledger()')
    admission.detach()
    expect(await ledger.sweep()).toBe(1)
    const { rows } = await ledgerState.pool.query('SELECT output::integer FROM receipts')
    expect(rows).toEqual([{ output: 5 }])
    await ledger.close()
    await ledgerState.close()
  })

  it('learns from a mark that is refused that nothing more may leave, also when its own clock stood still', async () => {
    const ledgerState = await createPostgresLedgerState()
    const account = await ledgerState.addAccount()
    const { ledger, facts } = await openNode(ledgerState.connect() as PostgresPool)
    await ledger.credit({ account, kind: 'credit', amount: usd(HOLD * 10n), reason: 'test', ref: 'first' })
    const admission = await ledger.admit(requestFor(account))
    if (admission.kind !== 'admitted') throw new Error('refused')
    expect(admission.mark(1)).toBe(true)
    // As after the machine was suspended: its own clock stood still.
    await ledgerState.setClock({ aheadMs: LEASE_MS })
    let delivered = 1
    await expect.poll(() => admission.mark(++delivered)).toBe(false)
    await expect.poll(() => facts.leasesLost).toBe(1)
    await expect.poll(async () => (await ledger.admit(requestFor(account))).kind).toBe('admitted')
    await ledger.close()
    await ledgerState.close()
  })

  it('does not begin a turn whose hold was placed under it', async () => {
    const ledgerState = await createPostgresLedgerState()
    const account = await ledgerState.addAccount()
    const pool = ledgerState.connect() as PostgresPool
    let answer = () => {}
    const isAnswered = new Promise<void>((resolve) => {
      answer = resolve
    })
    const slow: PostgresPool = {
      async query(text, values) {
        const answered = await pool.query(text, values)
        if (text.includes('run_turns(')) await isAnswered
        return answered
      },
    }
    const { ledger, facts } = await openNode(slow, { leaseMs: 300 })
    await ledger.credit({ account, kind: 'credit', amount: usd(HOLD), reason: 'test', ref: 'first' })
    const admission = ledger.admit(requestFor(account))
    await expect.poll(async () => (await ledgerState.pool.query('SELECT FROM receipts')).rows.length).toBe(1)
    await ledgerState.setClock({ aheadMs: 1000 })
    await expect.poll(() => facts.leasesLost).toBe(1)
    answer()
    expect(await admission).toMatchObject({ kind: 'refused', refusal: { kind: 'unavailable' } })
    expect(await ledger.sweep()).toBe(1)
    expect(await ledger.accountStatus(account)).toMatchObject({ balance: HOLD, held: 0n })
    await ledger.close()
    await ledgerState.close()
  })

  it('begins a new lease, and admits again', async () => {
    const ledgerState = await createPostgresLedgerState()
    const account = await ledgerState.addAccount()
    const { ledger, facts } = await openNode(ledgerState.connect() as PostgresPool, { leaseMs: 1000 })
    await ledger.credit({ account, kind: 'credit', amount: usd(HOLD), reason: 'test', ref: 'first' })
    await ledgerState.setClock({ aheadMs: 3000 })
    // A busy machine may lose a lease as short as this one again.
    await expect.poll(() => facts.leasesLost, PATIENT).toBeGreaterThan(0)
    await expect.poll(async () => (await ledger.admit(requestFor(account))).kind, PATIENT).toBe('admitted')
    await ledger.close()
    await ledgerState.close()
  })
})

/** For a busy machine. */
const PATIENT = { timeout: 20_000 }

describe.skipIf(!postgres)('a sweep', () => {
  let ledgerState: PostgresLedgerState
  beforeEach(async () => {
    ledgerState = await createPostgresLedgerState()
  })
  afterEach(() => ledgerState.close())

  it('leaves a turn alone that was admitted while it looked', async () => {
    const account = await ledgerState.addAccount()
    const pool = ledgerState.connect() as PostgresPool
    let asked = () => {}
    let answer = () => {}
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve
    })
    const mayAnswer = new Promise<void>((resolve) => {
      answer = resolve
    })
    let isSlow = false
    const slow: PostgresPool = {
      async query(text, values) {
        if (isSlow && text.includes('abandoned_turns')) {
          asked()
          await mayAnswer
        }
        return pool.query(text, values)
      },
    }
    const { ledger } = await openNode(slow)
    await ledger.credit({ account, kind: 'credit', amount: usd(HOLD), reason: 'test', ref: 'first' })
    isSlow = true
    const sweeping = ledger.sweep()
    await isAsked
    const admission = await ledger.admit(requestFor(account))
    if (admission.kind !== 'admitted') throw new Error('refused')
    answer()
    expect(await sweeping).toBe(0)
    expect(await admission.settle(settlement(20_000n))).toMatchObject({ kind: 'settled' })
    await ledger.close()
  })

  it('and a start resolve what they can when the books of one account refuse it', async () => {
    const [broken, whole] = [await ledgerState.addAccount(), await ledgerState.addAccount()]
    const dead = cuttable(ledgerState.connect() as PostgresPool)
    const { ledger } = await openNode(dead.pool)
    for (const account of [broken, whole]) {
      await ledger.credit({ account, kind: 'credit', amount: usd(HOLD), reason: 'test', ref: 'first' })
      expect((await ledger.admit(requestFor(account))).kind).toBe('admitted')
    }
    dead.cut()
    await ledgerState.pool.query('UPDATE buckets SET held_nano = 0 WHERE account = $1', [broken])
    await ledgerState.setClock({ aheadMs: LEASE_MS })
    const next = await openNode(ledgerState.connect() as PostgresPool)
    expect(next.facts.recovered).toBe(1)
    expect(next.facts.troubles).toHaveLength(1)
    expect((await next.ledger.accountStatus(whole)).held).toBe(0n)
    await next.ledger.close()
  })
})
