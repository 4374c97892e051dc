import { describe, expect, it } from 'vitest'
import { findTotpStep, totpCode, totpUri, writeTotpSecret } from './totp.ts'

/** The secret of RFC 6238, appendix B. */
const SECRET = Buffer.from('12345678901234567890')

describe('a code of an authenticator app', () => {
  it.each([
    [59, '94287082'],
    [1111111109, '07081804'],
    [1111111111, '14050471'],
    [1234567890, '89005924'],
    [2000000000, '69279037'],
    [20000000000, '65353130'],
  ])('at second %i is %s, as RFC 6238 says', (second, code) => {
    expect(totpCode(SECRET, Math.floor(second / 30), 8)).toBe(code)
    expect(totpCode(SECRET, Math.floor(second / 30))).toBe(code.slice(2))
  })

  it('is accepted in its own step and those beside it, and only if it is newer than the last one', () => {
    const step = 1000
    const now = step * 30_000 + 12_345
    const found = (of: number, after = 0) => findTotpStep(SECRET, totpCode(SECRET, of), { now, after })
    expect([998, 999, 1000, 1001, 1002].map((of) => found(of))).toEqual([undefined, 999, 1000, 1001, undefined])
    expect(found(1000, 1000)).toBeUndefined()
    expect(found(1001, 1000)).toBe(1001)
    expect(findTotpStep(SECRET, '12345', { now, after: 0 })).toBeUndefined()
    expect(findTotpStep(SECRET, '', { now, after: 0 })).toBeUndefined()
  })
})

it('writes secrets as RFC 4648 does', () => {
  expect(writeTotpSecret(Buffer.from('foobar'))).toBe('MZXW6YTBOI')
  expect(writeTotpSecret(SECRET)).toBe('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ')
  expect(totpUri(SECRET, { issuer: 'a b', person: 'ann@example.com' })).toBe(
    'otpauth://totp/a%20b:ann%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=a%20b',
  )
})
