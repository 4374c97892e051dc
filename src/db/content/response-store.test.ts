import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  ACCOUNT,
  ended,
  openStoreBench,
  STRANGER,
  type StoreBench,
  started,
  userMessage,
} from '../../../test/fixtures/db/content/stored-responses.ts'
import { randomFrom } from '../../../test/fixtures/lib/seeded-random.ts'

let bench: StoreBench

beforeEach(async () => {
  bench = await openStoreBench()
})
afterEach(async () => {
  await bench.close()
})

const random = randomFrom(7)
/** Text that no compression makes smaller by much. */
const noise = (size: number) =>
  userMessage(Array.from({ length: size }, () => String.fromCharCode(33 + random(90))).join(''))
const large = (name: string, expiresAt: number, parent?: string) =>
  bench.responses.finish(ended(name, { input: [noise(4000)], output: [], expiresAt, parent }))
const twice = (name: string) =>
  bench.responses.finish(ended(name, { input: [noise(8000)], output: [], expiresAt: 9000 }))
const isThere = async (name: string) => (await bench.responses.find({ account: ACCOUNT }, `resp_${name}`)) !== undefined
const there = async (...names: string[]) => {
  const found = await Promise.all(names.map(isThere))
  return names.filter((_, at) => found[at])
}
/** What the sum of all rows is, beside what the file says it is. */
const sumOfRows = async () => {
  const sums = await Promise.all(
    ['responses', 'items', 'events'].map((table) =>
      bench.file.all(`SELECT COALESCE(SUM(bytes), 0) AS bytes FROM ${table}`, []),
    ),
  )
  return sums.reduce((sum, [row]) => sum + (row?.bytes as number), 0)
}

describe('the room for responses', () => {
  it('is made by those that expire first', async () => {
    await bench.reopen({ bytesMax: 16_000 })
    await large('a', 3000)
    await large('b', 2000)
    await large('c', 4000)
    expect(await there('a', 'b', 'c')).toEqual(['a', 'b', 'c'])
    expect(await large('d', 5000)).toBe(true)
    expect(await there('a', 'b', 'c', 'd')).toEqual(['a', 'c', 'd'])
    await bench.reopen({ bytesMax: 16_000 })
    expect(await large('e', 6000)).toBe(true)
    expect(await there('a', 'c', 'd', 'e')).toEqual(['c', 'd', 'e'])
  })

  it('is made by whole conversations from their end, never out of the middle of one', async () => {
    await bench.reopen({ bytesMax: 18_000 })
    await large('old1', 2000)
    await large('old2', 2100, 'resp_old1')
    await large('new1', 2050)
    await large('new2', 9000, 'resp_new1')
    expect(await large('x', 9000)).toBe(true)
    expect(await there('old1', 'old2', 'new1', 'new2', 'x')).toEqual(['old1', 'new1', 'new2', 'x'])
    expect(await large('y', 9000)).toBe(true)
    expect(await there('old1', 'new1', 'new2', 'x', 'y')).toEqual(['new1', 'new2', 'x', 'y'])
    const chain = await bench.responses.context({ account: ACCOUNT }, 'resp_new2', 1_000_000)
    expect(chain.kind === 'found' && chain.items.length).toBe(2)
  })

  it('is made by the beginning of what goes before it is made by what expires later', async () => {
    await bench.reopen({ bytesMax: 18_000 })
    await large('old1', 2000)
    await large('old2', 2100, 'resp_old1')
    await large('new1', 2050)
    await large('new2', 8000, 'resp_new1')
    expect(await twice('y')).toBe(true)
    expect(await there('old1', 'old2', 'new1', 'new2', 'y')).toEqual(['new1', 'new2', 'y'])
  })

  it('is not taken from what is running', async () => {
    await bench.reopen({ bytesMax: 7000 })
    await bench.responses.begin(started('running', { expiresAt: 1500 }))
    await large('a', 2000)
    expect(await large('b', 3000)).toBe(true)
    expect(await there('running', 'a', 'b')).toEqual(['running', 'b'])
    expect(await large('too-large', 4000, undefined)).toBe(true)
    expect(await bench.responses.finish(ended('x', { input: [noise(9000)] }))).toBe(false)
    expect(await there('running', 'too-large')).toEqual(['running', 'too-large'])
  })

  it('is never exceeded, by however many at once, and the sum is that of the rows', async () => {
    await bench.reopen({ bytesMax: 60_000 })
    for (let round = 0; round < 4; round++) {
      const names = Array.from({ length: 15 }, (_, at) => `${round}-${at}`)
      await Promise.all(names.map((name, at) => large(name, 2000 + at)))
      expect(await bench.sizeOfState()).toBeLessThanOrEqual(60_000)
      expect(await bench.sizeOfState()).toBe(await sumOfRows())
    }
    expect(await bench.count('responses')).toBeGreaterThan(8)
  })

  it('may be none at all: nothing is stored, and what was goes', async () => {
    await large('a', 2000)
    await bench.reopen({ bytesMax: 0 })
    expect(bench.responses.keeps).toBe(false)
    expect(await bench.responses.begin(started('b'))).toBe(false)
    expect(await large('c', 2000)).toBe(false)
    expect(await there('a')).toEqual([])
    expect(await bench.responses.items({ account: ACCOUNT }, ['msg_a'], 1000)).toEqual({
      kind: 'found',
      items: new Map(),
    })
    expect(await bench.responses.remove({ account: ACCOUNT }, 'resp_a')).toBe(false)
    await bench.responses.sweep()
    expect(await bench.count('responses')).toBe(0)
    expect(bench.failures).toEqual([])
  })

  it('is released by what has expired, after any sequence of writes', async () => {
    const seed = 42
    const any = randomFrom(seed)
    const done = { kept: 0, begun: 0, removed: 0, swept: 0, refused: 0 }
    for (let step = 0; step < 300; step++) {
      const account = any(4) === 0 ? STRANGER : ACCOUNT
      const recent = () => `resp_${Math.max(0, step - 1 - any(12))}`
      const parent = any(2) === 0 ? undefined : recent()
      const input = Array.from({ length: any(4) }, () => userMessage(`item ${any(30)}`))
      const over = { account, parent, input, expiresAt: bench.time + any(3000) + 1 }
      const action = any(10)
      if (action < 6) done[(await bench.responses.finish(ended(`${step}`, over))) ? 'kept' : 'refused'] += 1
      else if (action < 8) {
        done[(await bench.responses.begin(started(`${step}`, over))) ? 'begun' : 'refused'] += 1
        if (any(2) === 0) await bench.responses.finish(ended(`${step}`, over))
      } else if (action === 8) done.removed += (await bench.responses.remove({ account }, recent())) ? 1 : 0
      else done.swept += await bench.responses.sweep()
      bench.time += any(60)
      if (step % 20 === 0) expect(await bench.sizeOfState(), `seed ${seed}, step ${step}`).toBe(await sumOfRows())
    }
    await bench.responses.recover()
    bench.time += 10_000
    done.swept += await bench.responses.sweep()
    console.info(`seed ${seed}: ${JSON.stringify(done)}`)
    expect(Object.values(done).every((count) => count > 5)).toBe(true)
    for (const table of ['responses', 'items', 'response_items', 'response_objects', 'events', 'account_keys']) {
      expect(await bench.count(table), table).toBe(0)
    }
    expect(await bench.sizeOfState()).toBe(0)
    expect(bench.failures).toEqual([])
  })
})
