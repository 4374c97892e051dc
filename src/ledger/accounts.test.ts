import { beforeEach, describe, expect, it } from 'vitest'
import { insertAccount } from '../../test/fixtures/db/set-up.ts'
import { useLedger } from '../../test/fixtures/ledger/ledger.ts'
import { systemClock } from '../lib/clock.ts'
import type { AccountRow, RequestId } from '../model/ids.ts'
import { type AccountCache, createAccountCache } from './accounts.ts'
import { createLedgerState, type LedgerState, type OpenTurn } from './state/state.ts'

const bench = useLedger()
const HOUR = 3_600_000_000

let ledgerState: LedgerState
let cache: AccountCache
let nowMicros: number
const pending = new Set<AccountRow>()

beforeEach(async () => {
  for (const name of ['b', 'c', 'd']) {
    await insertAccount(bench.database.file, { id: `acct_${name}`, email: `${name}@example.com`, createdAt: 1 })
  }
  ledgerState = createLedgerState({ receipt: 1, transfer: 1, bucket: 1000, subscription: 1 })
  nowMicros = systemClock.nowMicros()
  pending.clear()
  cache = createAccountCache(
    bench.database.db,
    ledgerState,
    { nowMicros: () => nowMicros },
    { pendingAccounts: () => pending },
  )
  for (const account of [1, 2, 3, 4]) await use(account)
})

const use = (account: number) => cache.withState(account as AccountRow, () => {})
const there = () => [...ledgerState.accounts.keys()]

it('makes operations wait while an account is read again', async () => {
  const done: string[] = []
  let adopt = () => {}
  const reading = cache.readAgain(
    2 as AccountRow,
    () =>
      new Promise((resolve) => {
        adopt = () => {
          done.push('adopted')
          resolve()
        }
      }),
  )
  await Promise.resolve()
  expect([...cache.rereading.keys()]).toEqual([2])
  const working = cache.withState(2 as AccountRow, () => void done.push('worked'))
  await use(3)
  adopt()
  await Promise.all([reading, working])
  expect(done).toEqual(['adopted', 'worked'])
  expect(cache.rereading.size).toBe(0)
})

describe('the cache', () => {
  it('puts idle accounts away, oldest first, down to what may be there', () => {
    cache.evict(1)
    expect(there(), 'no account is idle yet').toEqual([1, 2, 3, 4])
    nowMicros += HOUR
    void use(2)
    cache.evict(4)
    expect(there(), 'there is room').toEqual([1, 2, 3, 4])
    cache.evict(2)
    expect(there()).toEqual([2, 4])
    cache.evict(0)
    expect(there(), 'it was used just now').toEqual([2])
  })

  it('leaves an account with an open hold where it is, even a hold of nothing', () => {
    const turn = { requestId: 'req_1' as RequestId, account: 3 as AccountRow, heldAmount: 0n } as OpenTurn
    ledgerState.turns.set(turn.requestId, turn)
    nowMicros += HOUR
    cache.evict(0)
    expect(there()).toEqual([3])
  })

  it('leaves an account until everything that was decided on it is recorded', () => {
    pending.add(2 as AccountRow)
    nowMicros += HOUR
    cache.evict(0)
    expect(there()).toEqual([2])
    pending.clear()
    cache.evict(0)
    expect(there()).toEqual([])
  })

  it('reads an account again as the file has it', async () => {
    nowMicros += HOUR
    cache.evict(0)
    await bench.database.file.atomic([{ sql: 'UPDATE buckets SET posted_nano = 7 WHERE account = 2', rows: [[]] }])
    await use(2)
    expect(ledgerState.accounts.get(2 as AccountRow)?.wallet.posted).toBe(7n)
  })

  it('reads how far an account has counted, whether a transfer or a receipt came last', async () => {
    const { file } = bench.database
    const last = async () => {
      nowMicros += HOUR
      cache.evict(0)
      await use(2)
      return ledgerState.accounts.get(2 as AccountRow)?.movements
    }
    expect(await last()).toBe(0)
    const transfer = "INSERT INTO transfers VALUES (?, ?, ?, 2, ?, 'why', 5, 1, ?, ?)"
    await file.atomic([{ sql: transfer, rows: [[1, 'credit', 'usd', 'may', 1, 5n]] }])
    expect(await last()).toBe(1)
    await file.atomic([{ sql: transfer, rows: [[2, 'grant', 'quota', '9.2', 2, null]] }])
    expect(await last()).toBe(2)
    const receipt = `INSERT INTO receipts (row, request_id, account, key, kind, state, model, price_version, buckets,
        hold_nano, output_cap, output_bound, input_estimate, opened_at, charge_nano, movement)
      VALUES (?, ?, 2, 1, ?, 'released', 'demo', 1, '[]', 0, 1, 1, 1, 1, 0, ?)`
    await file.atomic([{ sql: receipt, rows: [[1, 'req_a', 'wallet', 3]] }])
    expect(await last()).toBe(3)
    await file.atomic([{ sql: receipt, rows: [[2, 'req_b', 'builder', 4]] }])
    expect(await last()).toBe(4)
  })
})
