import { describe, expect, it } from 'vitest'
import { createQueue, type Wait } from './concurrency-limiter.ts'

const bounds = { lengthMax: 3, msMax: 60_000 }

function createShop(free: number) {
  const shop = { free, line: createQueue() }
  const need = (much: number) => () => {
    if (shop.free < much) return false
    shop.free -= much
    return true
  }
  const join = (much: number, within = bounds) => shop.line.join(need(much), within)
  const wait = (much: number, within = bounds) => join(much, within) as Wait
  const give = (much: number) => {
    shop.free += much
    shop.line.advance()
  }
  return { shop, join, wait, give }
}

describe('a waiting line', () => {
  it('lets through at once while there is room, and then first come, first served', async () => {
    const { shop, join, wait, give } = createShop(1)
    expect(join(1)).toBe('passed')
    const order: string[] = []
    const waits = ['a', 'b', 'c'].map(async (name) => {
      await wait(1).outcome
      order.push(name)
    })
    expect(join(1)).toBe('full')
    give(2)
    await Promise.all(waits.slice(0, 2))
    expect(order).toEqual(['a', 'b'])
    expect(shop.line.length).toBe(1)
    give(1)
    await Promise.all(waits)
    expect(order).toEqual(['a', 'b', 'c'])
  })

  it('keeps the order: the second would fit, but the first still waits for more', async () => {
    const { shop, join, wait, give } = createShop(0)
    const large = wait(5)
    const small = wait(1)
    give(2)
    expect(shop.line.length).toBe(2)
    expect(join(1)).not.toBe('passed')
    large.leave()
    expect(await large.outcome).toBe('left')
    expect(await small.outcome).toBe('passed')
  })

  it('ends a wait that is too long, and takes nothing for it afterwards', async () => {
    const { shop, wait, give } = createShop(0)
    const hasty = wait(1, { lengthMax: 3, msMax: 10 })
    expect(await hasty.outcome).toBe('too-long')
    hasty.leave()
    give(1)
    expect(shop).toMatchObject({ free: 1 })
    expect(shop.line.length).toBe(0)
  })
})
