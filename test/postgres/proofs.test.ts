import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { PostgresPool } from '../../src/db/postgres/pool.ts'
import { PROOF_RULE_NAMES } from '../../src/db/postgres/verify.ts'
import type { AdmittedTurn, Ledger } from '../../src/ledger/ledger.ts'
import { proveOnPostgres } from '../../src/ledger/postgres/proof.ts'
import type { AdmitRequest } from '../../src/ledger/state/turns.ts'
import type { AccountRow } from '../../src/model/ids.ts'
import { dayCap, HOLD, HOUR, hours, limitOf, requestFor, usd } from '../fixtures/ledger/contract-bench.ts'
import { randomFrom } from '../fixtures/lib/seeded-random.ts'
import { GIVEN_BACK, settlement } from '../fixtures/model/ending.ts'
import { ONE_STATEMENT_PROOF } from './one-statement-proof.ts'
import { openNode } from './postgres-bench.ts'
import { brokenRules, createPostgresLedgerState, type PostgresLedgerState, postgres } from './postgres-ledger.ts'

const NODES = 4
/** Of each of eight clients in the storm, and between two jumps of the clock. */
const STEPS = 300
const STEPS_A_JUMP = 40
const seed = Number(process.env.MILLRACE_SEED ?? Date.now() % 1_000_000_000)

const since = { whole: false }
const whole = { whole: true }
/** So that accounts are cut in the middle, and several slices are needed. */
const SMALL = { movements: 2, accounts: 1 }

const WINDOWS = [hours(5, HOLD * 40n)]
const ofPlan = { kind: 'builder', plan: 'builder', allowances: WINDOWS } as const
const caps = [dayCap(HOLD * 40n)]
const claimOf = (scope: string) => ({ scope, fingerprint: 'f', expiresAt: 2 ** 50 })

/** The rows that one history leaves. */
interface Rows {
  readonly wallet: number
  readonly window: number
  readonly otherWallet: number
  readonly credit: number
  readonly charged: number
  readonly released: number
  readonly open: number
  readonly windowed: number
  readonly capped: number
  readonly claimed: number
  readonly claimedOpen: number
}

/**
 * A change by hand that breaks the rule. `always`: also a proof since the last one sees it, because it is of something that every
 * proof looks at. `new`: the proof in one statement did not see it.
 */
type Break = readonly [rule: string, sql: (rows: Rows) => string, seen?: 'always' | 'new' | 'always new']

const named = (start: string) => PROOF_RULE_NAMES.find((name) => name.startsWith(start)) ?? start

const BROKEN_BY: readonly Break[] = [
  [named('cost is'), ({ charged }) => `UPDATE receipts SET cost_nano = cost_nano + 1 WHERE row = ${charged}`],
  [named('entries of a charge'), ({ windowed }) => `UPDATE receipts SET buckets = '{4000}' WHERE row = ${windowed}`],
  [
    named('entries of a transfer'),
    ({ credit }) => `UPDATE entries SET delta_nano = delta_nano + 1 WHERE seq = 1 AND transfer = ${credit}`,
  ],
  [
    named('a transfer has'),
    ({ credit }) => `UPDATE entries SET delta_nano = 2 * delta_nano WHERE transfer = ${credit}`,
  ],
  [named('a transfer has'), ({ credit, wallet }) => `INSERT INTO entries VALUES (${credit}, 2, ${wallet}, 0)`, 'new'],
  [
    named('a transfer has'),
    ({ credit, otherWallet }) => `UPDATE entries SET bucket = ${otherWallet} WHERE seq = 0 AND transfer = ${credit}`,
    'new',
  ],
  [named('a receipt names'), ({ released }) => `UPDATE receipts SET price_version = 9 WHERE row = ${released}`],
  [named('a receipt names'), ({ open }) => `UPDATE receipts SET price_version = 9 WHERE row = ${open}`, 'always'],
  [
    named('a receipt stands'),
    ({ released, otherWallet }) => `UPDATE receipts SET buckets = '{${otherWallet}}' WHERE row = ${released}`,
  ],
  [
    named('a receipt stands'),
    ({ released, wallet }) => `UPDATE receipts SET buckets = '{${wallet},${wallet}}' WHERE row = ${released}`,
  ],
  [named('a wallet key'), ({ released }) => `UPDATE receipts SET kind = 'builder' WHERE row = ${released}`],
  [named('a wallet key'), ({ released }) => `UPDATE receipts SET buckets = '{}' WHERE row = ${released}`, 'new'],
  [named('posted'), ({ wallet }) => `UPDATE buckets SET posted_nano = posted_nano + 1 WHERE row = ${wallet}`, 'always'],
  [named('posted'), ({ window }) => `UPDATE buckets SET posted_nano = posted_nano - 1 WHERE row = ${window}`, 'always'],
  [named('posted'), () => 'UPDATE buckets SET posted_nano = posted_nano + 1 WHERE row = 1', 'always'],
  [named('posted'), ({ windowed }) => `UPDATE receipts SET charge_nano = 4, cost_nano = 4 WHERE row = ${windowed}`],
  [named('granted'), ({ wallet }) => `UPDATE buckets SET granted_nano = 7 WHERE row = ${wallet}`, 'always'],
  [named('granted'), ({ window }) => `UPDATE buckets SET granted_nano = 7 WHERE row = ${window}`, 'always'],
  [
    named('movements of a unit'),
    ({ credit }) => `UPDATE entries SET bucket = -11 WHERE seq = 1 AND transfer = ${credit}`,
  ],
  [
    named('a movement is of'),
    ({ credit }) => `UPDATE entries SET bucket = 4000 WHERE seq = 1 AND transfer = ${credit}`,
  ],
  [named('a movement is of'), ({ charged }) => `UPDATE receipts SET buckets = '{4000}' WHERE row = ${charged}`],
  [named('held'), ({ wallet }) => `UPDATE buckets SET held_nano = held_nano + 1 WHERE row = ${wallet}`, 'always'],
  [named('held'), ({ window }) => `UPDATE buckets SET held_nano = held_nano - 1 WHERE row = ${window}`, 'always'],
  [named('held'), ({ open }) => `UPDATE receipts SET hold_nano = hold_nano + 1 WHERE row = ${open}`, 'always'],
  [named('a spend counter'), () => 'UPDATE spend_counters SET spent_nano = spent_nano + 1', 'always'],
  [named('a spend counter'), () => 'UPDATE spend_counters SET held_nano = 0', 'always'],
  [named('a spend counter'), ({ capped }) => `UPDATE receipts SET caps = NULL WHERE row = ${capped}`],
  [named('turns at once'), () => 'UPDATE limits SET running = running + 1', 'always'],
  [named('turns at once'), () => 'DELETE FROM limits', 'always new'],
  [named('movements of an account'), ({ charged }) => `UPDATE receipts SET movement = -5 WHERE row = ${charged}`],
  [
    named('a wallet counts'),
    ({ released }) => `UPDATE receipts SET movement = movement + 1000 WHERE row = ${released}`,
    'always new',
  ],
  [named('a wallet counts'), ({ released }) => `DELETE FROM receipts WHERE row = ${released}`],
  [
    named('a wallet counts'),
    ({ wallet }) => `UPDATE buckets SET movements = movements + 1 WHERE row = ${wallet}`,
    'always',
  ],
  [
    named('a wallet counts'),
    ({ wallet }) => `UPDATE buckets SET movements = movements - 1 WHERE row = ${wallet}`,
    'always',
  ],
  [named('a wallet counts'), ({ wallet }) => `DELETE FROM buckets WHERE row = ${wallet}`, 'always new'],
  [named('a balance is'), ({ charged }) => `UPDATE receipts SET balance_nano = 1 WHERE row = ${charged}`],
  [
    named('no account'),
    ({ wallet }) => `UPDATE buckets SET posted_nano = held_nano - 1 WHERE row = ${wallet}`,
    'always',
  ],
  [named('a closed receipt'), ({ claimed }) => `UPDATE claims SET state = 'running' WHERE receipt = ${claimed}`],
  [
    named('a closed receipt'),
    ({ claimedOpen }) => `UPDATE claims SET state = 'kept' WHERE receipt = ${claimedOpen}`,
    'always',
  ],
]

const CHANGES = BROKEN_BY.map(([rule, sql, seen = ''], place) => ({ place: place + 1, rule, sql, seen }))

const WITHOUT_DEFENCES = `
DO $$
DECLARE
  each record;
BEGIN
  FOR each IN SELECT conrelid::regclass AS place, conname FROM pg_constraint
      WHERE contype = 'c' AND connamespace = 'millrace'::regnamespace LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', each.place, each.conname);
  END LOOP;
END $$;
ALTER TABLE receipts DISABLE TRIGGER ALL;
ALTER TABLE entries DISABLE TRIGGER ALL;
ALTER TABLE buckets DISABLE TRIGGER ALL;
`

const creditTo = (ledger: Ledger, account: AccountRow, ref: string, amount = HOLD * 1000n) =>
  ledger.credit({ account, kind: 'credit', amount: usd(amount), reason: 'test', ref })

async function admit(ledger: Ledger, account: AccountRow, over: Partial<AdmitRequest> = {}) {
  const request = requestFor(account, over)
  const admission = await ledger.admit(request)
  if (admission.kind !== 'admitted') throw new Error(`refused: ${admission.refusal.kind}`)
  return Object.assign(admission, { requestId: request.requestId })
}

/** One of everything that a rule is about, under names of this round. */
async function makeHistory(pool: pg.Pool, ledger: Ledger, accounts: readonly [AccountRow, AccountRow], round: string) {
  const [account, other] = accounts
  await creditTo(ledger, account, round)
  await ledger.assignPlan({ account, plan: 'builder', windows: WINDOWS, endsAt: undefined })
  const turns = {
    charged: await admit(ledger, account),
    released: await admit(ledger, account),
    open: await admit(ledger, account, { limits: [limitOf('concurrent', 100)] }),
    windowed: await admit(ledger, account, ofPlan),
    windowedOpen: await admit(ledger, account, ofPlan),
    capped: await admit(ledger, account, { allowances: caps }),
    cappedOpen: await admit(ledger, account, { allowances: caps }),
    claimed: await admit(ledger, account, { claim: claimOf(`${round} a`) }),
    claimedOpen: await admit(ledger, account, { claim: claimOf(`${round} b`) }),
    last: await admit(ledger, account),
  }
  for (const name of ['charged', 'windowed', 'capped', 'claimed', 'last'] as const)
    await turns[name].settle(settlement(5n))
  await turns.released.settle(GIVEN_BACK)
  await turns.last.settle(settlement(9n))
  const number = async (sql: string, values: readonly unknown[] = []): Promise<number> =>
    Number((await pool.query(`SELECT (${sql})::text AS found`, values as unknown[])).rows[0].found)
  const receipt = (turn: { requestId: string }) =>
    number('SELECT row FROM receipts WHERE request_id = $1', [turn.requestId])
  const walletOf = (of: AccountRow) => number(`SELECT row FROM buckets WHERE kind = 'wallet' AND account = $1`, [of])
  const rows: Rows = {
    wallet: await walletOf(account),
    otherWallet: await walletOf(other),
    window: await number(`SELECT row FROM buckets WHERE kind = 'window'`),
    credit: await number('SELECT row FROM transfers WHERE account = $1 AND ref = $2', [account, round]),
    charged: await receipt(turns.charged),
    released: await receipt(turns.released),
    open: await receipt(turns.open),
    windowed: await receipt(turns.windowed),
    capped: await receipt(turns.capped),
    claimed: await receipt(turns.claimed),
    claimedOpen: await receipt(turns.claimedOpen),
  }
  return rows
}

const namesOf = (report: Parameters<typeof brokenRules>[0]) => brokenRules(report).map((text) => text.split(':')[0])

describe.skipIf(!postgres)('each rule of the proof on PostgreSQL', () => {
  let ledgerState: PostgresLedgerState
  let ledger: Ledger
  let account: AccountRow
  let old: Rows
  let fresh: Rows

  // A proof, and then the same again behind it.
  beforeAll(async () => {
    ledgerState = await createPostgresLedgerState()
    account = await ledgerState.addAccount()
    const accounts = [account, await ledgerState.addAccount()] as const
    ledger = (await openNode(ledgerState.connect(2) as PostgresPool)).ledger
    await creditTo(ledger, accounts[1], 'other')
    old = await makeHistory(ledgerState.pool, ledger, accounts, 'old')
    expect(await ledger.audit(since)).toMatchObject({ ok: true, accounts: 2, receipts: 10, transfers: 3 })
    fresh = await makeHistory(ledgerState.pool, ledger, accounts, 'fresh')
    await ledgerState.pool.query(WITHOUT_DEFENCES)
  })
  afterAll(async () => {
    await ledger.close()
    await ledgerState.close()
  })

  /** Undone afterwards. */
  async function afterChange(sql: string, look: (db: PostgresPool) => Promise<void>) {
    const client = await ledgerState.pool.connect()
    try {
      await client.query('BEGIN')
      await client.query(sql)
      await look(client as unknown as PostgresPool)
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  }

  it('holds before the change', () =>
    afterChange('', async (db) => {
      expect(brokenRules(await proveOnPostgres(db, whole, SMALL))).toEqual([])
      expect(brokenRules(await proveOnPostgres(db, since))).toEqual([])
    }))

  it.each(CHANGES)(
    'change $place, of what is new, is found by both proofs: $rule',
    async ({ rule: name, sql, seen }) => {
      await afterChange(sql(fresh), async (db) => {
        const reports = [await proveOnPostgres(db, since), await proveOnPostgres(db, since, SMALL)]
        reports.push(await proveOnPostgres(db, whole), await proveOnPostgres(db, whole, SMALL))
        for (const report of reports) {
          expect(namesOf(report)).toContain(name)
          expect(report.suspects.filter((each) => each !== account)).toEqual([])
        }
        const { rows } = await db.query(ONE_STATEMENT_PROOF)
        const before = namesOf(rows[0]!.report as never)
        if (seen.includes('new')) expect(before).not.toContain(name)
        else expect(before).toContain(name)
      })
    },
  )

  it.each(CHANGES)(
    'change $place, of what is proved, is found by the whole proof: $rule',
    async ({ rule: name, sql, seen }) => {
      await afterChange(sql(old), async (db) => {
        const part = namesOf(await proveOnPostgres(db, since))
        if (seen.includes('always')) expect(part).toContain(name)
        else expect(part).toEqual([])
        expect(namesOf(await proveOnPostgres(db, whole, SMALL))).toContain(name)
        expect(namesOf(await proveOnPostgres(db, whole))).toContain(name)
      })
    },
  )

  it('has a change by hand here', () => {
    expect(new Set(BROKEN_BY.map(([name]) => name))).toEqual(new Set(PROOF_RULE_NAMES))
  })
})

describe.skipIf(!postgres)('proofs at four nodes', () => {
  let ledgerState: PostgresLedgerState
  let accounts: AccountRow[]
  let nodes: Ledger[]
  let troubles: readonly unknown[][]

  beforeEach(async () => {
    ledgerState = await createPostgresLedgerState()
    accounts = []
    for (let each = 0; each < 5; each++) accounts.push(await ledgerState.addAccount())
    const opened = Array.from({ length: NODES }, () => openNode(ledgerState.connect(2) as PostgresPool))
    const found = await Promise.all(opened)
    nodes = found.map(({ ledger }) => ledger)
    troubles = found.map(({ facts }) => facts.troubles as unknown[])
  })
  afterEach(async () => {
    await Promise.all(nodes.map((node) => node.close()))
    expect(troubles.flat()).toEqual([])
    await ledgerState.close()
  })

  const spend = async (node: number, account: AccountRow, turns: number) => {
    for (let turn = 0; turn < turns; turn++) await (await admit(nodes[node]!, account)).settle(settlement(BigInt(turn)))
  }
  const frozen = async (): Promise<number[]> =>
    (await ledgerState.pool.query('SELECT row::integer FROM accounts WHERE frozen_at IS NOT NULL')).rows.map(
      ({ row }) => row as number,
    )

  it('read only what has come since the last one, at whichever node', async () => {
    const [account, other] = accounts as [AccountRow, AccountRow]
    for (const each of [account, other]) await creditTo(nodes[0]!, each, 'first')
    await spend(0, account, 30)
    expect(await nodes[1]!.audit(since)).toMatchObject({ ok: true, accounts: 5, receipts: 30, transfers: 2 })
    expect(await nodes[2]!.audit(since)).toMatchObject({ ok: true, accounts: 5, receipts: 0, transfers: 0 })
    const open = await admit(nodes[3]!, account)
    await spend(2, other, 3)
    expect(await nodes[3]!.audit(since), 'an open hold is looked at again').toMatchObject({ receipts: 4 })
    await open.settle(settlement(5n))
    expect(await nodes[0]!.audit(since)).toMatchObject({ ok: true, receipts: 1, transfers: 0 })
    await ledgerState.pool.query(`ALTER TABLE receipts DISABLE TRIGGER ALL;
      UPDATE receipts SET price_version = 9 WHERE row = 3`)
    expect(await nodes[0]!.audit(since), 'what is proved is not read again').toMatchObject({ ok: true, receipts: 0 })
    expect(await nodes[0]!.audit(whole)).toMatchObject({ ok: false, receipts: 34, transfers: 2, suspects: [account] })
  })

  it('fetch as many rows as have come, however many there are', async () => {
    const [account] = accounts as [AccountRow]
    await creditTo(nodes[0]!, account, 'first')
    const pool = ledgerState.connect(1)
    const count = async (): Promise<number> => {
      const { rows } = await pool.query(`SELECT sum(idx_tup_fetch + seq_tup_read)::integer AS fetched
        FROM pg_stat_xact_user_tables WHERE relname IN ('receipts', 'transfers', 'entries')`)
      return rows[0].fetched
    }
    /** Rows of these tables, as the connection itself counts them within a transaction. */
    const fetched = async (options: { whole: boolean }): Promise<number> => {
      await pool.query('BEGIN')
      const before = await count()
      expect((await proveOnPostgres(pool as PostgresPool, options)).ok).toBe(true)
      const after = await count()
      await pool.query('COMMIT')
      return after - before
    }
    await spend(0, account, 200)
    await fetched(since)
    expect(await fetched(since)).toBe(0)
    await spend(1, account, 10)
    expect(await fetched(since)).toBe(10)
    expect(await fetched(whole)).toBe(210 + 1 + 2)
  })

  it('freeze an account that does not balance, keep its mark, and free it when a whole one finds it well again', async () => {
    const [account, other] = accounts as [AccountRow, AccountRow]
    for (const each of [account, other]) await creditTo(nodes[0]!, each, 'first')
    await spend(0, account, 2)
    await nodes[0]!.audit(since)
    await spend(0, account, 3)
    await spend(0, other, 3)
    const change = (by: number) =>
      ledgerState.pool.query(
        `UPDATE buckets SET posted_nano = posted_nano + ${by} WHERE kind = 'wallet' AND account = ${account}`,
      )
    const marks = async () =>
      (await ledgerState.pool.query('SELECT movement::integer FROM proved_accounts ORDER BY account LIMIT 2')).rows.map(
        ({ movement }) => movement,
      )
    await change(1)
    for (const kind of [since, since, whole])
      expect(await nodes[1]!.audit(kind)).toMatchObject({ ok: false, violations: 1, suspects: [account] })
    expect(await frozen()).toEqual([account])
    expect(await marks(), 'what is broken is not proved').toEqual([3, 4])
    expect(await nodes[2]!.admit(requestFor(account))).toMatchObject({ refusal: { kind: 'frozen' } })
    await spend(2, other, 1)
    await change(-1)
    expect(await nodes[3]!.audit(since), 'a look at a part lifts nothing').toMatchObject({ ok: true })
    expect(await frozen()).toEqual([account])
    expect(await nodes[3]!.audit(whole)).toMatchObject({ ok: true })
    expect(await frozen()).toEqual([])
    await spend(2, account, 1)
  })

  it('does not free an account of which only the last slice is well', async () => {
    const [account] = accounts as [AccountRow]
    await creditTo(nodes[0]!, account, 'first')
    await spend(0, account, 9)
    await ledgerState.pool.query(`ALTER TABLE receipts DISABLE TRIGGER ALL;
      UPDATE receipts SET price_version = 9 WHERE row = 2`)
    const report = await proveOnPostgres(ledgerState.pool as PostgresPool, whole, SMALL)
    expect(report).toMatchObject({ violations: 1, suspects: [account], receipts: 9, accounts: 5 })
    expect(await frozen()).toEqual([account])
  })

  it(`never find anything in a storm of turns (MILLRACE_SEED=${seed})`, { timeout: 120_000 }, async () => {
    const below = randomFrom(seed)
    for (const account of accounts) await creditTo(nodes[0]!, account, 'first')
    for (const account of accounts.slice(1))
      await nodes[0]!.assignPlan({ account, plan: 'builder', windows: WINDOWS, endsAt: undefined })
    const counts: Record<string, number> = {}
    const count = (what: string) => {
      counts[what] = (counts[what] ?? 0) + 1
    }
    const someTurn = (): Partial<AdmitRequest> & Pick<AdmitRequest, 'kind'> => {
      const isOfPlan = below(2) === 0
      const underCaps = below(3) === 0 ? caps : []
      return {
        ...(isOfPlan ? ofPlan : { kind: 'wallet' }),
        allowances: [...(isOfPlan ? WINDOWS : []), ...underCaps],
        ...(below(3) === 0 && { limits: [limitOf('concurrent', 50)] }),
        ...(below(4) === 0 && { claim: claimOf(`${below(10_000)}`) }),
      }
    }
    const act = async (node: Ledger, running: AdmittedTurn[]) => {
      const account = accounts[below(accounts.length)]!
      const chance = below(20)
      if (chance === 0) return count((await creditTo(node, account, `${below(10_000)}`, BigInt(1 + below(9)))).kind)
      if (chance > 10 || running.length > 6) {
        const ending = below(4) === 0 ? GIVEN_BACK : settlement(BigInt(below(Number(HOLD) * 2)))
        const ended = await running.splice(below(running.length), 1)[0]?.settle(ending)
        return ended && count(ended.kind)
      }
      const turn = someTurn()
      const admission = await node.admit(requestFor(account, turn))
      if (admission.kind === 'admitted') running.push(admission)
      count(admission.kind === 'admitted' ? `admitted ${turn.kind}` : admission.refusal.kind)
    }
    let jumps = 0
    /** The windows of the accounts end, and their caps begin again. */
    const jump = async () => {
      await ledgerState.pool.query('UPDATE nodes SET lease_until = lease_until + $1', [9 * HOUR])
      await ledgerState.setClock({ aheadMs: ++jumps * 9 * HOUR })
    }
    let isOver = false
    const client = async (node: Ledger, number: number) => {
      const running: AdmittedTurn[] = []
      for (let step = 1; step <= STEPS; step++) {
        await act(node, running)
        if (number === 0 && step % STEPS_A_JUMP === 0) await jump()
      }
      for (const turn of running) await turn.settle(settlement(1n))
    }
    const storm = async () => {
      try {
        await Promise.all([...nodes, ...nodes].map(client))
      } finally {
        isOver = true
      }
    }
    let proofs = 0
    const prove = async (kind: { whole: boolean }, size: { movements: number; accounts: number }) => {
      const pool = ledgerState.connect(1) as PostgresPool
      do {
        const report = await proveOnPostgres(pool, kind, size)
        expect(brokenRules(report), `seed ${seed}, proof ${proofs}`).toEqual([])
        proofs++
      } while (!isOver)
    }
    await Promise.all([
      storm(),
      prove(since, { movements: 7, accounts: 2 }),
      prove(since, { movements: 2000, accounts: 500 }),
      prove(whole, { movements: 50, accounts: 2 }),
    ])
    console.log(`seed ${seed}: ${proofs} proofs beside ${JSON.stringify(counts)}`)
    expect(proofs).toBeGreaterThan(12)
    const { rows } = await ledgerState.pool.query(
      `SELECT count(*)::integer AS windows FROM buckets WHERE closed_at > 0`,
    )
    expect(rows[0].windows, 'windows have ended meanwhile').toBeGreaterThan(3)
    expect(await frozen()).toEqual([])
    expect(await nodes[0]!.audit(since)).toMatchObject({ ok: true })
    expect(await nodes[0]!.audit(since)).toMatchObject({ ok: true, receipts: 0, transfers: 0 })
    expect(await ledgerState.violations()).toEqual([])
  })
})
