import { describe, expect, it } from 'vitest'
import { createQueue } from './concurrency-limiter.ts'

function createShop(free: number) {
  const shop = { free, line: createQueue() }
  const need = (much: number) => () => {
    if (shop.free < much) return false
    shop.free -= much
    return true
  }
  const wait = (much: number, msMax = 60_000) => shop.line.join(need(much), msMax)
  const give = (much: number) => {
    shop.free += much
    shop.line.advance()
  }
  return { shop, wait, give }
}

describe('a waiting line', () => {
  it('lets through first come, first served', async () => {
    const { shop, wait, give } = createShop(0)
    const order: string[] = []
    const waits = ['a', 'b', 'c'].map(async (name) => {
      await wait(1).outcome
      order.push(name)
    })
    give(2)
    await Promise.all(waits.slice(0, 2))
    expect(order).toEqual(['a', 'b'])
    expect(shop.line.waiting.length).toBe(1)
    give(1)
    await Promise.all(waits)
    expect(order).toEqual(['a', 'b', 'c'])
  })

  it('keeps the order: the second would fit, but the first still waits for more', async () => {
    const { shop, wait, give } = createShop(0)
    const large = wait(5)
    const small = wait(1)
    give(2)
    expect(shop.line.waiting.length).toBe(2)
    large.leave()
    expect(await large.outcome).toBe('left')
    expect(await small.outcome).toBe('passed')
  })

  it('ends a wait that is too long, and takes nothing for it afterwards', async () => {
    const { shop, wait, give } = createShop(0)
    const hasty = wait(1, 10)
    expect(await hasty.outcome).toBe('too-long')
    hasty.leave()
    give(1)
    expect(shop).toMatchObject({ free: 1 })
    expect(shop.line.waiting.length).toBe(0)
  })
})
