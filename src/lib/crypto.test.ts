import { expect, it } from 'vitest'
import { deriveKey } from './crypto.ts'

const secret = Buffer.from('a secret of an installation, 32+ bytes')

it('gives every purpose of every secret a key of its own, always the same one', () => {
  const pepper = deriveKey(secret, 'pepper')
  expect(pepper).toHaveLength(32)
  expect(deriveKey(secret, 'pepper')).toEqual(pepper)
  expect(deriveKey(secret, 'envelope')).not.toEqual(pepper)
  expect(deriveKey(Buffer.from('another secret of an installation'), 'pepper')).not.toEqual(pepper)
})

it('never changes its result, or every stored key would be refused', () => {
  expect(deriveKey(secret, 'pepper', 8).toString('hex')).toMatchInlineSnapshot(`"34fc44257cceefac"`)
})
