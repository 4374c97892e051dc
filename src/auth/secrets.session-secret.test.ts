import { expect, it } from 'vitest'
import { secureRandom } from '../lib/random-id.ts'
import { isSessionSecret, mintSessionSecret, readKey } from './secrets.ts'

it('the secret of a session is known by its shape, and is no API key', () => {
  const secret = mintSessionSecret(secureRandom)
  expect(secret).toMatch(/^mr_session_[0-9A-Za-z]{43}$/)
  expect(isSessionSecret(secret)).toBe(true)
  expect(readKey(secret)).toBeUndefined()
})

it.each(['', 'mr_session_', `mr_session_${'a'.repeat(42)}`, `mr_session_${'a'.repeat(42)}\n`, 'x'.repeat(1_000_000)])(
  'what is none need not be looked up',
  (text) => expect(isSessionSecret(text)).toBe(false),
)
