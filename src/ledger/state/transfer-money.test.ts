import { beforeEach, expect, it } from 'vitest'
import type { AccountRow, BucketRow } from '../../model/ids.ts'
import type { NanoUsd } from '../../model/money.ts'
import { transferMoney } from './operator-commands.ts'
import { createAccountState, createLedgerState, type LedgerState } from './state.ts'

const BILLION = 1_000_000_000n * 1_000_000_000n
const INT64_MAX = 2n ** 63n - 1n

let ledgerState: LedgerState

beforeEach(() => {
  ledgerState = createLedgerState({ receipt: 1, transfer: 1, bucket: 1000, subscription: 1 })
  for (let account = 1 as AccountRow; account <= 12; account++) {
    const wallet = { row: (10 + account) as BucketRow, posted: 0n, held: 0n }
    ledgerState.accounts.set(account, createAccountState(account, wallet))
  }
})

const transfer = (account: number, amount: bigint) =>
  transferMoney(ledgerState, {
    account: account as AccountRow,
    kind: 'credit',
    amount: amount as NanoUsd,
    reason: 'test',
    ref: 'r',
    at: 1,
  })

it('one wallet holds a billion dollars and not one nano-dollar more', () => {
  expect(transfer(1, BILLION).kind).toBe('transferred')
  expect(transfer(1, 1n)).toEqual({ kind: 'too-much', holder: 'wallet', most: BILLION })
  expect(ledgerState.accounts.get(1 as AccountRow)?.wallet.posted).toBe(BILLION)
  expect(transfer(1, -1n).kind).toBe('transferred')
  expect(transfer(1, 1n).kind).toBe('transferred')
})

it('all credits together stay within the integers of the database', () => {
  const kinds = Array.from({ length: 12 }, (_, index) => transfer(index + 1, BILLION).kind)
  expect(kinds).toEqual([...Array(9).fill('transferred'), ...Array(3).fill('too-much')])
  expect(transfer(12, BILLION)).toEqual({ kind: 'too-much', holder: 'books', most: 9n * BILLION })
  expect(ledgerState.issued).toBe(9n * BILLION)
  expect(ledgerState.issued).toBeLessThan(INT64_MAX)
})

it('what running turns hold cannot be taken out, to the last nano-dollar', () => {
  transfer(1, 1000n)
  ledgerState.accounts.get(1 as AccountRow)!.wallet.held = 300n
  expect(transfer(1, -701n)).toEqual({ kind: 'short', available: 700n })
  expect(transfer(1, -700n).kind).toBe('transferred')
  expect(ledgerState.accounts.get(1 as AccountRow)?.wallet).toMatchObject({ posted: 300n, held: 300n })
})

it('what is taken back makes room again', () => {
  for (let account = 1; account <= 9; account++) transfer(account, BILLION)
  expect(transfer(10, 5n).kind).toBe('too-much')
  expect(transfer(3, -5n).kind).toBe('transferred')
  expect(transfer(10, 5n).kind).toBe('transferred')
})
