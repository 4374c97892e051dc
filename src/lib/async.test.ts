import { expect, it } from 'vitest'
import { createQueue, createTurns, createTurnstile } from './async.ts'

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

it('a turnstile lets one pass in each turn of the loop, in order', async () => {
  const pass = createTurnstile()
  const passed: number[] = []
  for (let index = 0; index < 3; index++) void pass().then(() => passed.push(index))
  const seen: number[] = []
  for (let turns = 0; turns < 4; turns++) {
    await nextTurn()
    seen.push(passed.length)
  }
  expect(passed).toEqual([0, 1, 2])
  expect(seen.every((count, turn) => count <= turn + 1)).toBe(true)
  await pass()
})

it('a queue runs so many at once, in order, and goes on behind one that fails', async () => {
  const queue = createQueue(2)
  const begun: number[] = []
  const ends: (() => void)[] = []
  const work = (index: number) =>
    queue(async () => {
      begun.push(index)
      await new Promise<void>((resolve) => ends.push(resolve))
      if (index === 0) throw new Error('no')
      return index
    })
  const results = [0, 1, 2, 3].map((index) => work(index).catch(() => 'failed'))
  await nextTurn()
  expect(begun).toEqual([0, 1])
  ends[0]?.()
  await nextTurn()
  expect(begun).toEqual([0, 1, 2])
  for (let index = 1; index < 4; index++) {
    ends[index]?.()
    await nextTurn()
  }
  expect(await Promise.all(results)).toEqual(['failed', 1, 2, 3])
})

it('turns run the works of one user one after the other, beside those of others, and go on behind one that fails', async () => {
  const inTurnOf = createTurns<string>()
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const work = (user: string, name: string) =>
    inTurnOf(user, async () => {
      begun.push(name)
      await new Promise<void>((resolve) => ends.set(name, resolve))
      if (name === 'a1') throw new Error('no')
      return name
    }).catch(() => 'failed')
  const results = [work('a', 'a1'), work('a', 'a2'), work('b', 'b1'), work('a', 'a3')]
  await nextTurn()
  expect(begun).toEqual(['a1', 'b1'])
  for (const name of ['a1', 'b1', 'a2', 'a3']) {
    ends.get(name)?.()
    await nextTurn()
  }
  expect(begun).toEqual(['a1', 'b1', 'a2', 'a3'])
  expect(await Promise.all(results)).toEqual(['failed', 'a2', 'b1', 'a3'])
})
