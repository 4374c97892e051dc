import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { insertAccount } from '../../test/fixtures/db/set-up.ts'
import { HOLD, requestFor } from '../../test/fixtures/ledger/contract-bench.ts'
import { PRICE } from '../../test/fixtures/ledger/ledger.ts'
import { GIVEN_BACK, settlement } from '../../test/fixtures/model/ending.ts'
import { findAccountByEmail } from '../db/accounts.ts'
import { type Database, openDatabase } from '../db/open-database.ts'
import { systemClock } from '../lib/clock.ts'
import { secureRandom } from '../lib/random-id.ts'
import type { Ending } from '../model/ending.ts'
import { type AccountRow, mintAccountId, type RequestId } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import type { AdmittedTurn, Ledger } from './ledger.ts'
import { openLedger } from './open-ledger.ts'
import { recordPrices } from './prices.ts'
import type { AdmitRequest } from './state/turns.ts'

/** What only SQLite has, beside the contract of every ledger (contract-*.fixture.ts). */
let folder: string
let database: Database
let ledger: Ledger
let account: AccountRow
let failures: unknown[]
let batches: number[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-ledger-'))
  await open()
  await insertAccount(database.file, { id: mintAccountId(secureRandom), email: 'a@example.com', createdAt: 1 })
  account = (await findAccountByEmail(database.db, 'a@example.com'))?.row as AccountRow
  await recordPrices({ db: database.db, now: () => 1 }, new Map([['demo', PRICE]]))
})

afterEach(async () => {
  await close()
  await rm(folder, { recursive: true })
})

async function open(): Promise<void> {
  failures = []
  batches = []
  database = await openDatabase({ path: join(folder, 'ledger.db'), clock: systemClock })
  ledger = await openLedger({
    db: database.db,
    lowPriorityDb: database.lowPriorityDb,
    file: database.file,
    journal: database.journal,
    clock: systemClock,
    markIntervalMs: 20,
    observer: {
      batchRecorded: ({ operations }) => void batches.push(operations),
      batchFailed: (error) => void failures.push(error),
      recovered() {},
      accountUnbalanced: (_, error) => void failures.push(error),
    },
  })
}

async function close(): Promise<void> {
  await ledger.close()
  await database.close()
}

/** As after a kill: memory is gone, and the file is as the last commit left it. */
async function reopen(): Promise<void> {
  await close()
  await open()
}

const credit = (amount: bigint, ref: string) =>
  ledger.credit({ account, kind: 'credit', amount: amount as NanoUsd, reason: 'test', ref })

/** Behind the ledger's back, so that the next batch breaks the rule of the row. */
const forceBalance = (amount: bigint) =>
  database.file.atomic([{ sql: 'UPDATE buckets SET posted_nano = ? WHERE account = ?', rows: [[amount, account]] }])

async function admit(over: Partial<AdmitRequest> = {}): Promise<AdmittedTurn & { requestId: RequestId }> {
  const request = requestFor(account, over)
  const admission = await ledger.admit(request)
  if (admission.kind !== 'admitted') throw new Error(`refused: ${admission.refusal.kind}`)
  return Object.assign(admission, { requestId: request.requestId })
}

describe('credits', () => {
  it('are bounded in all by what was ever put in, which a new process knows too', async () => {
    const most = 9_000_000_000n * 1_000_000_000n
    await database.file.atomic([{ sql: 'UPDATE buckets SET posted_nano = ? WHERE row = 1', rows: [[-most]] }])
    await reopen()
    expect(await credit(1n, 'first')).toEqual({ kind: 'too-much', holder: 'books', most })
  })
})

describe('an operation that the file refuses', () => {
  it('fails alone: its account is frozen and read again, the gate stays open, and no money is lost', async () => {
    await credit(1_000_000n, 'first')
    const before = await admit()
    await before.durable
    await forceBalance(HOLD)
    const doomed = await admit({ clientCap: 10 })
    const [refused, seen] = [doomed.durable, new Set<boolean>()]
    while ((await Promise.race([refused, Promise.resolve('waiting')])) === 'waiting') {
      seen.add(ledger.gate.open)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect([await refused, [...seen]]).toEqual(['refused', [true]])
    expect(failures).toHaveLength(1)
    // Memory is what the file says again: the earlier hold, and the balance as it was forced.
    expect(await ledger.accountStatus(account)).toEqual({ balance: HOLD, held: HOLD, available: 0n })
    expect((await before.settle(settlement(1000n))).kind).toBe('settled')
    expect(await doomed.settle(settlement(1000n))).toEqual({ kind: 'lost' })
    expect((await ledger.accountStatus(account)).balance).toBe(HOLD - 1000n)
  })

  it('costs no other turn of its account its end, also one that ends while the account is read again', async () => {
    await credit(1_000_000n, 'first')
    const before = await admit()
    await before.durable
    await forceBalance(HOLD)
    const doomed = await admit({ clientCap: 10 })
    expect(await doomed.durable).toBe('refused')
    expect((await before.settle(settlement(1000n))).kind).toBe('settled')
    expect(await ledger.accountStatus(account)).toEqual({ balance: HOLD - 1000n, held: 0n, available: HOLD - 1000n })
  })
})

describe('an end that the file refuses with another operation of its account', () => {
  it('is tried again once the account has been read again', async () => {
    await credit(10_000_000n, 'first')
    const turn = await admit()
    await turn.durable
    await forceBalance(HOLD)
    const doomed = await admit()
    expect(await turn.settle(settlement(1000n))).toMatchObject({ kind: 'settled', charge: 1000n })
    expect(await doomed.durable).toBe('refused')
  })

  it('leaves the marks of its turn, by which the sweeper charges, where the second try fails too', async () => {
    await credit(10_000_000n, 'first')
    const turn = await admit()
    turn.mark(5)
    await expect.poll(() => database.file.all('SELECT node FROM marks', [])).toHaveLength(1)
    // No charge fits, and no mark either, until an operator has mended it.
    await database.file.atomic([
      {
        sql: 'UPDATE buckets SET held_nano = ?, posted_nano = ? WHERE account = ?',
        rows: [[HOLD - 1n, HOLD, account]],
      },
    ])
    expect(await turn.settle(settlement(1000n))).toEqual({ kind: 'lost' })
    turn.detach()
    await database.file.atomic([{ sql: 'UPDATE buckets SET held_nano = ? WHERE account = ?', rows: [[HOLD, account]] }])
    await reopen()
    const [receipt] = await database.file.all('SELECT state, output FROM receipts', [])
    expect(receipt).toEqual({ state: 'settled', output: 5 })
  })
})

describe('an end that comes before its hold is written', () => {
  it('shares its batch, and one row holds both', async () => {
    await credit(10_000_000n, 'first')
    batches.length = 0
    const turns = await Promise.all([admit(), admit(), admit()])
    const [first, second, third] = turns
    const [settled, released] = await Promise.all([first.settle(settlement(1000n)), second.settle(GIVEN_BACK)])
    expect([settled.kind, released.kind]).toEqual(['settled', 'released'])
    expect(batches).toEqual([5])
    await third.settle(settlement(500n))
    expect(await database.file.all('SELECT state, charge_nano FROM receipts ORDER BY row', [])).toEqual([
      { state: 'settled', charge_nano: 1000n },
      { state: 'released', charge_nano: 0n },
      { state: 'settled', charge_nano: 500n },
    ])
    for (const turn of turns) turn.detach()
    await reopen()
    expect(await ledger.accountStatus(account)).toMatchObject({ balance: 9_998_500n, held: 0n })
    expect(await ledger.audit({ whole: true })).toMatchObject({ ok: true, receipts: 3 })
  })

  it('is lost with the hold where the file refuses it, and costs nothing', async () => {
    await credit(1_000_000n, 'first')
    const before = await admit()
    await before.durable
    await forceBalance(HOLD)
    const doomed = await admit({ clientCap: 10 })
    expect(await doomed.settle(settlement(1000n))).toEqual({ kind: 'lost' })
    expect(await before.settle(settlement(1000n))).toMatchObject({ kind: 'settled' })
    expect((await ledger.accountStatus(account)).balance).toBe(HOLD - 1000n)
  })

  it.each(['the batch of both holds', 'the next batch'])(
    'is tried again where another hold of its account was refused: it had joined %s',
    async (batch) => {
      await credit(10_000_000n, 'first')
      await forceBalance(HOLD)
      const [turn, doomed] = [await admit(), await admit()]
      if (batch === 'the next batch') await new Promise((resolve) => setImmediate(resolve))
      expect(await turn.settle(settlement(1000n))).toMatchObject({ kind: 'settled', charge: 1000n })
      expect([await turn.durable, await doomed.durable]).toEqual(['durable', 'refused'])
      expect(await doomed.settle(settlement(1000n))).toEqual({ kind: 'lost' })
      expect(await ledger.accountStatus(account)).toEqual({ balance: HOLD - 1000n, held: 0n, available: HOLD - 1000n })
    },
  )

  it('throws an internal fault to its caller only, without an unhandled rejection', async () => {
    await credit(10_000_000n, 'first')
    const unhandled: unknown[] = []
    const listener = (error: unknown) => void unhandled.push(error)
    process.on('unhandledRejection', listener)
    try {
      const turn = await admit()
      const { owed } = settlement(1000n)
      const faulty = { ...settlement(1000n), owed: { ...owed, usage: undefined } } as unknown as Ending
      await expect(turn.settle(faulty)).rejects.toThrow(TypeError)
      await new Promise((resolve) => setImmediate(resolve))
      expect(unhandled).toEqual([])
    } finally {
      process.off('unhandledRejection', listener)
    }
  })
})
