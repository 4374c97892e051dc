import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AdmitRequest } from '../books/admit-turn.ts'
import { systemClock } from '../lib/clock.ts'
import { secureRandom } from '../lib/random-id.ts'
import { type AccountRow, type KeyRow, mintAccountId, mintRequestId, type RequestId } from '../model/ids.ts'
import type { NanoUsd, PicoPerToken } from '../model/money.ts'
import { findAccountByEmail, insertAccount } from '../store/accounts.ts'
import { type Database, openDatabase } from '../store/open-database.ts'
import { findReceipt } from '../store/receipts.ts'
import type { AdmittedTurn, Ledger, Settlement } from './ledger.ts'
import { openLedger } from './open-ledger.ts'
import { recordPrices } from './record-prices.ts'
import { verifyBooks } from './verify-books.ts'

let folder: string
let database: Database
let ledger: Ledger
let account: AccountRow
let failures: unknown[]
let recovered: number
let behind: number[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-ledger-'))
  await open()
  await insertAccount(database.file, { id: mintAccountId(secureRandom), email: 'a@example.com', createdAt: 1 })
  account = (await findAccountByEmail(database.db, 'a@example.com'))?.row as AccountRow
  const terms = {
    input: pico(1_000_000),
    cachedInput: pico(100_000),
    cacheWrite: pico(1_000_000),
    output: pico(5_000_000),
    perRequest: 0n as NanoUsd,
    tiers: [],
  }
  await recordPrices({ db: database.db, now: () => 1 }, new Map([['demo', terms]]))
})

afterEach(async () => {
  await close()
  await rm(folder, { recursive: true })
})

const pico = (value: number) => BigInt(value) as PicoPerToken

async function open(): Promise<void> {
  failures = []
  recovered = 0
  behind = []
  database = await openDatabase({ path: join(folder, 'ledger.db'), clock: systemClock })
  ledger = await openLedger({
    db: database.db,
    file: database.file,
    journal: database.journal,
    clock: systemClock,
    markIntervalMs: 20,
    observer: {
      batchRecorded() {},
      batchFailed: (error) => void failures.push(error),
      recovered: (holds) => {
        recovered += holds
      },
      clockBehind: ({ behindMs }) => void behind.push(behindMs),
    },
  })
}

async function close(): Promise<void> {
  await ledger.close()
  await database.close()
}

/** As after a kill: whatever was in memory is gone, the file is as the last commit left it. */
async function reopen(): Promise<void> {
  await close()
  await open()
}

const credit = (amount: bigint, ref: string) =>
  ledger.credit({ account, kind: 'credit', amount: amount as NanoUsd, reason: 'test', ref })

function requestOf(over: Partial<AdmitRequest> = {}): AdmitRequest {
  return {
    requestId: mintRequestId(systemClock.now(), secureRandom),
    account,
    key: 1 as KeyRow,
    kind: 'wallet',
    model: 'demo',
    priceVersion: 1,
    terms: { inputPico: 100n * 1_000_000n, outputPicoPerToken: 5_000_000n, perRequest: 0n as NanoUsd },
    clientCap: 100,
    modelCap: 4096,
    chosenCap: { sharePercent: 25, tokensMin: 1024 },
    choices: 1,
    inputEstimate: 40,
    cachedEstimate: 0,
    allowances: [],
    claim: undefined,
    limits: [],
    ...over,
  }
}

const HOLD = 100_000n + 500_000n

async function admit(over: Partial<AdmitRequest> = {}): Promise<AdmittedTurn & { requestId: RequestId }> {
  const request = requestOf(over)
  const admission = await ledger.admit(request)
  if (admission.kind !== 'admitted') throw new Error(`refused: ${admission.refusal.kind}`)
  return Object.assign(admission, { requestId: request.requestId })
}

const settlement = (cost: bigint): Settlement => ({
  outcome: 'completed',
  lane: 'demo/demo',
  firstByteMs: 1,
  totalMs: 2,
  attempts: [{ lane: 'demo/demo', outcome: 'finished', status: 200, ms: 2 }],
  usage: { uncachedInput: 10, cachedInput: 0, cacheWrite: 0, output: 2, reasoning: 0, estimated: false },
  tier: 0,
  cost: cost as NanoUsd,
})

const expectCleanBooks = async () => {
  expect((await verifyBooks({ db: database.db })).report).toMatchObject({ ok: true, violations: 0 })
}

describe('a turn on the ledger', () => {
  it('holds, settles once, and gives the rest back', async () => {
    await credit(1_000_000n, 'first')
    const turn = await admit()
    expect(turn.hold).toBe(HOLD)
    expect(await ledger.standing(account)).toEqual({ balance: 1_000_000n, held: HOLD, available: 1_000_000n - HOLD })
    expect(await turn.durable).toBe('durable')
    expect(await turn.settle(settlement(20_000n))).toEqual({ kind: 'settled', charge: 20_000n, shortfall: 0n, tier: 0 })
    expect(await turn.settle(settlement(20_000n))).toEqual({ kind: 'not-ours' })
    expect(await ledger.standing(account)).toEqual({ balance: 980_000n, held: 0n, available: 980_000n })
    expect(await findReceipt(database.db, turn.requestId)).toMatchObject({
      state: 'settled',
      charge_nano: 20_000n,
      output: 2,
    })
    await expectCleanBooks()
  })

  it('a release costs nothing', async () => {
    await credit(1_000_000n, 'first')
    const turn = await admit()
    expect(await turn.release({ ...settlement(0n), outcome: 'upstream_failed' })).toEqual({ kind: 'released' })
    expect((await ledger.standing(account)).available).toBe(1_000_000n)
    expect(await findReceipt(database.db, turn.requestId)).toMatchObject({ state: 'released', charge_nano: 0n })
    await expectCleanBooks()
  })

  it('a hundred at once on a wallet that affords ten: ten are admitted', async () => {
    await credit(HOLD * 10n, 'first')
    const admissions = await Promise.all(Array.from({ length: 100 }, () => ledger.admit(requestOf())))
    const admitted = admissions.filter((admission) => admission.kind === 'admitted')
    expect(admitted).toHaveLength(10)
    const refusals = admissions.filter((admission) => admission.kind === 'refused').map(({ refusal }) => refusal.kind)
    expect(new Set(refusals)).toEqual(new Set(['in-flight']))
    await Promise.all(admitted.map((turn) => turn.settle(settlement(HOLD))))
    expect(await ledger.standing(account)).toEqual({ balance: 0n, held: 0n, available: 0n })
    await expectCleanBooks()
  })
})

describe('credit', () => {
  it('the same reference credits once, and another amount under it is refused', async () => {
    const both = await Promise.all([credit(500n, 'invoice 1'), credit(500n, 'invoice 1')])
    expect(both.map((outcome) => outcome.kind).sort()).toEqual(['credited', 'exists'])
    expect(await credit(501n, 'invoice 1')).toEqual({ kind: 'ref-taken', amount: 500n })
    await reopen()
    expect((await credit(500n, 'invoice 1')).kind).toBe('exists')
    expect((await ledger.standing(account)).balance).toBe(500n)
    await expectCleanBooks()
  })

  it('a refund cannot take what running turns hold', async () => {
    await credit(HOLD + 10n, 'first')
    await admit()
    const refund = await ledger.credit({
      account,
      kind: 'refund',
      amount: -11n as NanoUsd,
      reason: 'test',
      ref: 'back',
    })
    expect(refund.kind).toBe('short')
  })
})

describe('after a crash', () => {
  it('a hold whose answer had not begun is given back', async () => {
    await credit(1_000_000n, 'first')
    const turn = await admit()
    await turn.durable
    await reopen()
    expect(recovered).toBe(1)
    expect((await ledger.standing(account)).available).toBe(1_000_000n)
    expect(await findReceipt(database.db, turn.requestId)).toMatchObject({ state: 'released', outcome: 'recovered' })
    await expectCleanBooks()
  })

  it('a hold whose answer was being delivered is charged its input and what the last durable mark says', async () => {
    await credit(1_000_000n, 'first')
    const turn = await admit()
    turn.mark(7)
    await expect.poll(async () => (await database.file.all('SELECT packed FROM marks', [])).length).toBe(1)
    await reopen()
    const charge = 40n * 1000n + 7n * 5000n
    expect(await findReceipt(database.db, turn.requestId)).toMatchObject({
      state: 'settled',
      charge_nano: charge,
      estimated: 1,
      output: 7,
    })
    expect((await ledger.standing(account)).balance).toBe(1_000_000n - charge)
    await expectCleanBooks()
  })

  it('recovery never charges more output than the cap allowed', async () => {
    await credit(1_000_000n, 'first')
    const turn = await admit()
    turn.mark(5000)
    await expect.poll(async () => (await database.file.all('SELECT packed FROM marks', [])).length).toBe(1)
    await reopen()
    expect(await findReceipt(database.db, turn.requestId)).toMatchObject({ output: 100, shortfall_nano: 0n })
  })
})

describe('several answers at once', () => {
  it('are charged after a crash with all that was delivered, up to the cap of each', async () => {
    await credit(10_000_000n, 'first')
    const terms = { inputPico: 100_000_000n, outputPicoPerToken: 3n * 5_000_000n, perRequest: 0n as NanoUsd }
    const turns = [await admit({ choices: 3, terms }), await admit({ choices: 3, terms })]
    turns[0]?.mark(250)
    turns[1]?.mark(5000)
    await Promise.all(turns.map((turn) => turn.durable))
    await expect.poll(async () => (await database.file.all('SELECT packed FROM marks', [])).length).toBe(1)
    await reopen()
    const receipts = await Promise.all(turns.map((turn) => findReceipt(database.db, turn.requestId)))
    expect(receipts).toMatchObject([
      { output_cap: 100, output_bound: 300, output: 250, shortfall_nano: 0n },
      { output: 300, shortfall_nano: 0n },
    ])
    await expectCleanBooks()
  })
})

describe('a clock that was set back', () => {
  it('is said when it is more than a day, and time does not go back', async () => {
    await credit(500n, 'first')
    await database.file.atomic([{ sql: 'UPDATE transfers SET at = ?', rows: [[systemClock.now() + 80_000_000]] }])
    await reopen()
    expect(behind).toEqual([])
    const ahead = systemClock.now() + 400_000_000
    await database.file.atomic([{ sql: 'UPDATE transfers SET at = ?', rows: [[ahead]] }])
    await reopen()
    expect(behind).toHaveLength(1)
    await credit(501n, 'second')
    expect(await database.file.all('SELECT at FROM transfers WHERE ref = ?', ['second'])).toEqual([{ at: ahead }])
  })
})

describe('credits', () => {
  it('beyond what the rows can hold are refused, and move nothing', async () => {
    const most = 1_000_000_000n * 1_000_000_000n
    expect((await credit(most, 'first')).kind).toBe('credited')
    expect(await credit(1n, 'second')).toEqual({ kind: 'too-much', holder: 'wallet', most })
    await reopen()
    expect(await credit(1n, 'second')).toEqual({ kind: 'too-much', holder: 'wallet', most })
    expect((await ledger.standing(account)).balance).toBe(most)
    await expectCleanBooks()
  })

  it('are bounded in all by what was ever put in, which a new process knows too', async () => {
    const most = 9_000_000_000n * 1_000_000_000n
    await database.file.atomic([{ sql: 'UPDATE buckets SET posted_nano = ? WHERE row = 1', rows: [[-most]] }])
    await reopen()
    expect(await credit(1n, 'first')).toEqual({ kind: 'too-much', holder: 'books', most })
  })
})

describe('the sweeper', () => {
  it('takes a hold whose turn is over, and leaves one that is attended, whatever its age', async () => {
    await credit(HOLD * 3n, 'first')
    const lost = await admit()
    const running = await admit()
    await lost.durable
    lost.leave()
    expect(await ledger.sweep()).toBe(1)
    expect(await findReceipt(database.db, lost.requestId)).toMatchObject({ state: 'released', outcome: 'recovered' })
    expect(await findReceipt(database.db, running.requestId)).toMatchObject({ state: 'open' })
    expect(await lost.settle(settlement(1n))).toEqual({ kind: 'not-ours' })
    await expectCleanBooks()
  })
})

describe('a batch that fails', () => {
  it('admits nobody until the books are read again, and loses no money', async () => {
    await credit(1_000_000n, 'first')
    const before = await admit()
    await before.durable
    // Behind the ledger's back, so that the next batch breaks the rule of the row.
    await database.file.atomic([
      { sql: 'UPDATE buckets SET posted_nano = ? WHERE account = ?', rows: [[HOLD, account]] },
    ])
    const doomed = await admit({ clientCap: 10 })
    expect(await doomed.durable).toBe('lost')
    expect(failures).toHaveLength(1)
    await expect.poll(() => ledger.available).toBe(true)
    // Memory is what the file says again: the earlier hold, and the balance as it was forced.
    expect(await ledger.standing(account)).toEqual({ balance: HOLD, held: HOLD, available: 0n })
    expect((await before.settle(settlement(1000n))).kind).toBe('settled')
    expect(await doomed.settle(settlement(1000n))).toEqual({ kind: 'lost' })
    expect((await ledger.standing(account)).balance).toBe(HOLD - 1000n)
  })
})
