import { expect, it } from 'vitest'
import { secureRandom } from '../lib/random-id.ts'
import { mintInviteCode, readInviteCode } from './secrets.ts'

it('a code has 120 bits in unambiguous letters, and is read however it was typed', () => {
  const code = mintInviteCode(secureRandom)
  expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{4}-){5}[0-9A-HJKMNP-TV-Z]{4}$/)
  const letters = code.replaceAll('-', '')
  expect(readInviteCode(code)).toBe(letters)
  expect(readInviteCode(` ${code.toLowerCase().replaceAll('-', ' ')}\n`)).toBe(letters)
  expect(readInviteCode('OIl0-0000-0000-0000-0000-0000')).toBe('011000000000000000000000')
})

it('every bit of the randomness is in it', () => {
  expect(mintInviteCode(() => new Uint8Array(15))).toBe('0000-0000-0000-0000-0000-0000')
  expect(mintInviteCode(() => new Uint8Array(15).fill(255))).toBe('ZZZZ-ZZZZ-ZZZZ-ZZZZ-ZZZZ-ZZZZ')
  const codes = new Set(Array.from({ length: 1000 }, () => mintInviteCode(secureRandom)))
  expect(codes.size).toBe(1000)
})

it.each(['', 'ABCD', 'U'.repeat(24), '\u0130'.repeat(24), `${'A'.repeat(24)}A`, 'A'.repeat(1_000_000), '-'.repeat(99)])(
  'what is no code is told from one before anything is looked up',
  (text) => expect(readInviteCode(text)).toBeUndefined(),
)
