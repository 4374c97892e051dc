import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { secureRandom } from '../lib/random-id.ts'
import { checksumOf, digestKey, encodeBase62, isJobKeyOf, mintJobKey, mintKey, readJobKey, readKey } from './secrets.ts'

const pepper = Buffer.alloc(32, 1)
const deps = { pepper, random: secureRandom }
const minted = mintKey({ pepper, random: (size) => new Uint8Array(size).fill(0xab) }, 'wallet')

describe('a minted key', () => {
  it('has its kind, 256 random bits and a checksum, and is never minted twice', () => {
    expect(mintKey(deps, 'wallet').key).toMatch(/^mr_wallet_[0-9A-Za-z]{49}$/)
    expect(mintKey(deps, 'builder').key).toMatch(/^mr_builder_[0-9A-Za-z]{49}$/)
    const admin = mintKey(deps, 'admin').key
    expect(admin).toMatch(/^mra_[0-9A-Za-z]{49}$/)
    expect([readKey(admin), readKey(`${admin.slice(0, -1)}~`), readKey(admin.slice(0, -1))]).toEqual([
      'admin',
      undefined,
      undefined,
    ])
    const keys = new Set(Array.from({ length: 1000 }, () => mintKey(deps, 'wallet').key))
    expect(keys.size).toBe(1000)
    for (const key of keys) expect(readKey(key)).toBe('wallet')
  })

  it('keeps all bits of its randomness', () => {
    const low = encodeBase62(new Uint8Array(32), 43)
    const high = encodeBase62(new Uint8Array(32).fill(255), 43)
    expect([low, low.length, high.length]).toEqual(['0'.repeat(43), 43, 43])
    const one = new Uint8Array(32)
    one[0] = 1
    expect(encodeBase62(one, 43)).not.toBe(low)
  })

  it('is stored as a digest under the pepper, and shown by its ends only', () => {
    expect(minted.digest).toEqual(digestKey(pepper, minted.key))
    expect(minted.digest).not.toEqual(digestKey(Buffer.alloc(32, 2), minted.key))
    expect(minted.shown).toBe(`${minted.key.slice(0, 14)}...${minted.key.slice(-4)}`)
  })

  it('has a form that never changes, because keys live for years', () => {
    expect(minted.key).toMatchInlineSnapshot(`"mr_wallet_ehv1hsdOHPxDuX3xn9YyIKbgl4yJuySCWzdimD4heup1enn1l"`)
    expect(checksumOf('mr_wallet_')).toMatchInlineSnapshot(`"39M8SM"`)
  })
})

describe('the key of a CI job', () => {
  const of = { account: 3, id: 'job:main:1.1', key: 7 }
  const job = { run: 2 ** 47 + 5, expiresAt: 4_102_444_800_000 }
  const key = mintJobKey(pepper, job, of)

  it('says its run and its end, and has the form of a key', () => {
    expect(readKey(key)).toBe('job')
    expect(readJobKey(key)).toEqual(job)
    expect(key).toMatchInlineSnapshot(`"mr_job_ULrwNTJdqoq1iEZL6HsSEn6t1NLotFyLS9xXcYtpdht4CiAdE"`)
  })

  it('is good for what it was made for only', () => {
    expect(isJobKeyOf(pepper, key, of)).toBe(true)
    for (const other of [{ account: 4 }, { id: 'job:main:1.2' }, { key: 8 }])
      expect(isJobKeyOf(pepper, key, { ...of, ...other })).toBe(false)
    expect(isJobKeyOf(Buffer.alloc(32, 2), key, of)).toBe(false)
    const secret = key.slice('mr_job_'.length, -6)
    for (let place = 0; place < secret.length; place++) {
      const letter = secret[place] === 'a' ? 'b' : 'a'
      const body = `mr_job_${secret.slice(0, place)}${letter}${secret.slice(place + 1)}`
      expect([place, isJobKeyOf(pepper, body + checksumOf(body), of)]).toEqual([place, false])
    }
    const over = `mr_job_${'z'.repeat(43)}`
    expect(readJobKey(over + checksumOf(over))).toEqual({ run: 0, expiresAt: 0 })
  })
})

describe('a token that is no key', () => {
  it('is known by its form', () => {
    const { key } = minted
    const hostile = [
      '',
      'mr_wallet_',
      'mr_builder_',
      'sk-proj-abcdef',
      `${key} `,
      ` ${key}`,
      `${key}\0`,
      `${key.slice(0, -1)}\0`,
      key.toUpperCase(),
      key.replace('wallet', 'builder'),
      key.replace('mr_wallet_', 'mr_builder_').slice(0, -1),
      'mr_wallet_'.padEnd(59, '\0'),
      'mr_wallet_'.padEnd(59, '\uD800'),
      'mr_wallet_'.padEnd(59, '💰'),
      'mr_wallet_'.padEnd(59, '０'),
      'mr_wallet_'.repeat(100_000),
      '\0'.repeat(1_000_000),
      'constructor',
      '__proto__',
    ]
    for (const token of hostile) expect(readKey(token), JSON.stringify(token.slice(0, 80))).toBeUndefined()
  })

  it('is known by its checksum, whichever one or two characters were mistyped', () => {
    const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
    const seed = randomInt(2 ** 31)
    const next = randomFrom(seed)
    const counts = { replaced: 0, swapped: 0, dropped: 0, doubled: 0 }
    for (let n = 0; n < 5000; n++) {
      const { key } = mintKey(deps, n % 2 === 0 ? 'wallet' : 'builder')
      const place = 11 + next(key.length - 12)
      const before = key.slice(0, place)
      const after = key.slice(place + 1)
      const how = (['replaced', 'swapped', 'dropped', 'doubled'] as const)[next(4)]!
      const mutant = {
        replaced: `${before}${alphabet[next(62)]}${after}`,
        swapped: `${before}${after[0]}${key[place]}${after.slice(1)}`,
        dropped: before + after,
        doubled: `${before}${key[place]}${key[place]}${after}`,
      }[how]
      if (mutant === key) continue
      counts[how]++
      expect(readKey(mutant), `seed ${seed}, ${how} at ${place}: ${mutant}`).toBeUndefined()
    }
    console.log(`mistyped keys: seed ${seed}, ${JSON.stringify(counts)}`)
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(100)
  })
})

/** A small generator that a seed repeats (xorshift32). */
function randomFrom(seed: number): (below: number) => number {
  let state = seed | 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}
