import * as argon2 from '@node-rs/argon2'
import { describe, expect, it } from 'vitest'
import { createPasswords } from './hash-password.ts'

const PASSWORD = 'correct horse battery'

describe('a password', () => {
  const passwords = createPasswords()

  it('is hashed with argon2id of 19 MiB and two passes, under a salt of its own', async () => {
    const [one, two] = await Promise.all([passwords.hash(PASSWORD), passwords.hash(PASSWORD)])
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(one).not.toBe(two)
    expect(await passwords.check(PASSWORD, one)).toBe('right')
    expect(await passwords.check(`${PASSWORD} `, one)).toBe('wrong')
  })

  it('is the same however its accents were typed', async () => {
    const stored = await passwords.hash('caf\u00e9 cr\u00e8me br\u00fbl\u00e9e')
    expect(await passwords.check('cafe\u0301 cre\u0300me bru\u0302le\u0301e', stored)).toBe('right')
  })

  it('of parameters that are not those of today is known to be outdated', async () => {
    const weaker = await argon2.hash(PASSWORD, { memoryCost: 4096, timeCost: 2, parallelism: 1 })
    expect(passwords.isOutdated(weaker)).toBe(true)
    expect(await passwords.check(PASSWORD, weaker)).toBe('right')
    expect(passwords.isOutdated(await passwords.hash(PASSWORD))).toBe(false)
    expect(passwords.isOutdated(await argon2.hash(PASSWORD, { algorithm: 0 }))).toBe(true)
  })
})

describe('the queue of hashes', () => {
  const held = (waitingMax: number) => {
    const release: (() => void)[] = []
    const begun: string[] = []
    const wait = (password: unknown) => {
      begun.push(String(password))
      return new Promise<void>((resolve) => release.push(resolve))
    }
    const engine = {
      hash: async (password: unknown) => wait(password).then(() => 'hash'),
      verify: async (_: unknown, password: unknown) => wait(password).then(() => true),
    }
    const passwords = createPasswords({ engine: engine as typeof argon2, waitingMax })
    return { passwords, begun, release: () => release.shift()?.() }
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve))

  it('computes two at once, queues a few, and refuses the others as busy', async () => {
    const { passwords, begun, release } = held(3)
    const asked = ['a', 'b', 'c', 'd', 'e'].map((password) => passwords.check(password, 'stored'))
    await turn()
    expect(begun).toEqual(['a', 'b'])
    expect(await passwords.check('f', 'stored')).toBe('busy')
    expect(await passwords.check('f', undefined)).toBe('busy')
    expect(await passwords.hash('f')).toBe('busy')
    release()
    await turn()
    expect(begun).toEqual(['a', 'b', 'c'])
    for (let left = 4; left > 0; left--) {
      release()
      await turn()
    }
    expect(await Promise.all(asked)).toEqual(Array(5).fill('right'))
    expect(begun).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('has room again when one is done, also when it has failed', async () => {
    const failing = { hash: () => Promise.reject(new Error('no memory')), verify: async () => true }
    const passwords = createPasswords({ engine: failing as unknown as typeof argon2, waitingMax: 0 })
    for (let tries = 0; tries < 5; tries++) await expect(passwords.hash('a')).rejects.toThrow('no memory')
    expect(await passwords.check('a', 'stored')).toBe('right')
  })

  it('computes as much for an unknown email as for a known one', async () => {
    const { passwords, begun, release } = held(3)
    const unknown = passwords.check('guess', undefined)
    await turn()
    expect(begun).toEqual(['guess'])
    release()
    expect(await unknown).toBe('wrong')
  })
})
