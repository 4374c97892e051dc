import { beforeEach, describe, expect, it } from 'vitest'
import { createSignInTries, type SignInTries } from './sign-in-tries.ts'

let micros: number
let tries: SignInTries
/** What outlives the process. */
let kept: Map<string, number>

const clock = { now: () => micros / 1000, ticks: () => micros }
const keeper = {
  keep: ({ name, until }: { name: string; until: number }) => void kept.set(name, until),
  drop: (name: string) => void kept.delete(name),
}
const open = () => createSignInTries({ clock, keeper, digest: (name) => `<${name}>` })
beforeEach(() => {
  micros = 1_000_000
  kept = new Map()
  tries = open()
})

const MINUTE = 60_000_000
const take = (name: string, address?: string) => tries.take({ name, address })
const takeMany = (count: number, name: (index: number) => string, address?: string) =>
  Array.from({ length: count }, (_, index) => take(name(index), address).kind)

describe('tries of one name', () => {
  it('are five, then one every three minutes, and the wait is told to the second', () => {
    expect(takeMany(5, () => 'ann')).toEqual(Array(5).fill('taken'))
    expect(take('ann')).toEqual({ kind: 'locked', retryAfterSeconds: 180, of: 'name', first: true })
    micros += MINUTE
    expect(take('ann')).toEqual({ kind: 'locked', retryAfterSeconds: 120, of: 'name', first: false })
    micros += 2 * MINUTE - 1
    expect(take('ann')).toMatchObject({ kind: 'locked', retryAfterSeconds: 1 })
    micros += 1
    expect(take('ann').kind).toBe('taken')
    expect(take('ann')).toMatchObject({ kind: 'locked', retryAfterSeconds: 180, first: false })
  })

  it('are five from all addresses together', () => {
    const from = (index: number) => take('ann', `192.0.2.${index}`)
    expect([1, 2, 3, 4, 5].map((index) => from(index).kind)).toEqual(Array(5).fill('taken'))
    expect(from(6)).toMatchObject({ kind: 'locked', of: 'name' })
  })

  it('are those of nobody else', () => {
    takeMany(6, () => 'ann')
    expect(take('ben').kind).toBe('taken')
  })

  it('are all back after a right password, and after a quarter of an hour', () => {
    takeMany(5, () => 'ann')
    tries.forgive({ name: 'ann', address: undefined })
    expect(takeMany(6, () => 'ann')).toEqual([...Array(5).fill('taken'), 'locked'])
    micros += 15 * MINUTE
    expect(takeMany(5, () => 'ann')).toEqual(Array(5).fill('taken'))
    expect(take('ann')).toMatchObject({ first: true })
  })

  it('do not count when nothing was looked at', () => {
    for (let times = 0; times < 50; times++) {
      expect(take('ann', '192.0.2.1').kind).toBe('taken')
      tries.giveBack({ name: 'ann', address: '192.0.2.1' })
    }
  })
})

describe('tries of one address', () => {
  it('are twenty, whatever names they are for', () => {
    expect(takeMany(20, (index) => `name ${index}`, '192.0.2.1')).toEqual(Array(20).fill('taken'))
    expect(take('another', '192.0.2.1')).toEqual({ kind: 'locked', retryAfterSeconds: 45, of: 'address', first: true })
    expect(take('another', '192.0.2.2').kind).toBe('taken')
    expect(take('another').kind).toBe('taken')
  })

  it('count for a whole network of IPv6, and for IPv4 in its clothes', () => {
    takeMany(20, (index) => `name ${index}`, '2001:db8::1')
    expect(take('another', '2001:db8::ffff')).toMatchObject({ of: 'address' })
    expect(take('another', '2001:db8:0:1::1').kind).toBe('taken')
    takeMany(20, (index) => `name ${index}`, '192.0.2.1')
    expect(take('another', '::ffff:192.0.2.1')).toMatchObject({ of: 'address' })
  })

  it('that are used up leave the tries of the names alone', () => {
    takeMany(20, (index) => `name ${index}`, '192.0.2.1')
    takeMany(20, () => 'ann', '192.0.2.1')
    expect(takeMany(5, () => 'ann', '192.0.2.9')).toEqual(Array(5).fill('taken'))
  })

  it('get back the one that was a right password, and no more', () => {
    takeMany(19, (index) => `name ${index}`, '192.0.2.1')
    for (let times = 0; times < 10; times++) {
      expect(take('ann', '192.0.2.1').kind).toBe('taken')
      tries.forgive({ name: 'ann', address: '192.0.2.1' })
    }
    expect(take('ben', '192.0.2.1').kind).toBe('taken')
    expect(take('cyd', '192.0.2.1').kind).toBe('locked')
  })
})

describe('a restart', () => {
  const restart = () => {
    tries = open()
    tries.restore([...kept].map(([name, until]) => ({ name, until })))
  }

  it('lifts no lockout, and makes none longer', () => {
    takeMany(6, () => 'ann')
    micros += MINUTE
    restart()
    expect(take('ann')).toEqual({ kind: 'locked', retryAfterSeconds: 120, of: 'name', first: false })
    micros += 2 * MINUTE
    expect([take('ann').kind, take('ann').kind]).toEqual(['taken', 'locked'])
    restart()
    expect(take('ann')).toMatchObject({ kind: 'locked', retryAfterSeconds: 180 })
    micros += 15 * MINUTE
    restart()
    expect(takeMany(6, () => 'ann')).toEqual([...Array(5).fill('taken'), 'locked'])
  })

  it('lifts none of an address either, and mixes up neither', () => {
    takeMany(21, (index) => `name ${index}`, '203.0.113.7')
    restart()
    expect(take('another', '203.0.113.7')).toMatchObject({ kind: 'locked', of: 'address' })
    expect(take('name 3', '203.0.113.8').kind).toBe('taken')
  })

  it('brings nothing back that was forgiven', () => {
    takeMany(6, () => 'ann')
    micros += 3 * MINUTE
    expect(take('ann').kind).toBe('taken')
    tries.forgive({ name: 'ann', address: undefined })
    expect(kept.size).toBe(0)
  })

  it('keeps nobody out for longer than all tries take, whatever the clock was turned to', () => {
    tries.restore([{ name: 'name:<ann>', until: micros / 1000 + 1e12 }])
    expect(take('ann')).toMatchObject({ kind: 'locked', retryAfterSeconds: 180 })
    micros += 15 * MINUTE
    expect(takeMany(5, () => 'ann')).toEqual(Array(5).fill('taken'))
  })

  it('costs no write for what is refused, however often it is tried', () => {
    let writes = 0
    const keep = () => {
      writes += 1
    }
    const counting = createSignInTries({
      ...{ clock, digest: (name: string) => name },
      keeper: { keep, drop: () => {} },
    })
    for (let count = 0; count < 1000; count++) counting.take({ name: 'ann', address: undefined })
    expect(writes).toBe(1)
    micros += 3 * MINUTE
    for (let count = 0; count < 1000; count++) counting.take({ name: 'ann', address: undefined })
    expect(writes).toBe(2)
  })
})
