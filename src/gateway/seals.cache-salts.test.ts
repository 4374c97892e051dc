import { expect, it } from 'vitest'
import type { AccountId } from '../model/ids.ts'
import { createCacheSalts } from './seals.ts'

const SECRET = Buffer.from('a secret of an installation, long enough')
const ALICE = 'acct_alice' as AccountId
const BOB = 'acct_bob' as AccountId

it('a salt is one account’s, the same after a restart, and another one elsewhere', () => {
  const salt = createCacheSalts(SECRET)
  expect(salt(ALICE)).toBe(createCacheSalts(SECRET)(ALICE))
  expect(salt(ALICE)).not.toBe(salt(BOB))
  expect(createCacheSalts(Buffer.from('another secret of an installation'))(ALICE)).not.toBe(salt(ALICE))
})

it('a salt has 256 bits, and nothing of the account in it', () => {
  expect(createCacheSalts(SECRET)(ALICE)).toMatch(/^[\w-]{43}$/)
  expect(createCacheSalts(SECRET)(ALICE)).not.toContain('alice')
})
