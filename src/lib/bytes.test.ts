import { describe, expect, it } from 'vitest'
import { randomFrom } from '../../test/fixtures/lib/seeded-random.ts'
import { createSharedByteBudget, gatherBytes } from './bytes.ts'

describe('gathered bytes', () => {
  it('are what was added, in pieces of any size', () => {
    const SEED = 20261122
    const below = randomFrom(SEED)
    let pieces = 0
    for (let body = 0; body < 300; body++) {
      const gathered = gatherBytes()
      const added: Buffer[] = []
      for (let left = below(12); left > 0; left--) {
        const piece = Buffer.alloc([0, 1, 3, 100, 4095, 4096, 20_000][below(7)] ?? 0, below(256))
        const isFirst = gathered.length === 0
        gathered.add(piece)
        added.push(Buffer.from(piece))
        // A sender's buffer may be used again for what it sends next.
        if (piece.length < 4096 && !isFirst) piece.fill(0)
        pieces++
      }
      const whole = Buffer.concat(added)
      expect(gathered.length).toBe(whole.length)
      expect(gathered.whole().equals(whole)).toBe(true)
    }
    console.log(`gathered bytes: seed ${SEED}, ${pieces} pieces in 300 bodies`)
  })

  it('of one piece are that piece, and of nothing nothing', () => {
    const gathered = gatherBytes()
    const piece = Buffer.from('all of it')
    gathered.add(piece)
    expect(gathered.whole()).toBe(piece)
    expect(gatherBytes().whole().length).toBe(0)
  })

  it('take little more memory than they are, however small the pieces', () => {
    const gathered = gatherBytes()
    const BYTES = 2_000_000
    const read = Buffer.alloc(64 * 1024, 1)
    for (let added = 0; added < BYTES; added++)
      gathered.add(read.subarray(added % read.length, (added % read.length) + 1))
    const whole = gathered.whole()
    expect(whole.length).toBe(BYTES)
    expect(whole.every((byte) => byte === 1)).toBe(true)
  })
})

describe('a shared budget', () => {
  it('leaves to all others together as much as a user has taken', () => {
    const budget = createSharedByteBudget(1000)
    const [one, two, three] = [budget.of(1), budget.of(2), budget.of(3)]
    expect([one.take(501), one.take(500), one.take(1)]).toEqual([false, true, false])
    expect([two.take(251), two.take(250), three.take(125)]).toEqual([false, true, true])
    expect([one.taken, two.taken, three.taken]).toEqual([500, 250, 125])
    one.give(500)
    expect([two.take(63), three.take(200), one.taken]).toEqual([true, true, 0])
  })
})
