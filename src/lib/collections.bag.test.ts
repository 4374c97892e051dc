import { expect, it } from 'vitest'
import { createBag } from './collections.ts'

const contentsOf = (bag: ReturnType<typeof createBag<{ name: string }>>): string[] => {
  const names: string[] = []
  bag.each(({ name }) => names.push(name))
  return names.sort()
}

it('holds what was put in until it is taken out, and uses the place again', () => {
  const bag = createBag<{ name: string }>()
  const takeA = bag.add({ name: 'a' })
  bag.add({ name: 'b' })
  takeA()
  bag.add({ name: 'c' })
  expect(contentsOf(bag)).toEqual(['b', 'c'])
  expect(bag.size).toBe(2)
})

it('taking something out twice does not take out what stands in its place now', () => {
  const bag = createBag<{ name: string }>()
  const takeA = bag.add({ name: 'a' })
  takeA()
  bag.add({ name: 'b' })
  takeA()
  expect(contentsOf(bag)).toEqual(['b'])
})

it('what is taken out during a visit is not visited any more', () => {
  const bag = createBag<{ name: string }>()
  const visited: string[] = []
  bag.add({ name: 'a' })
  const takeB = bag.add({ name: 'b' })
  bag.each(({ name }) => {
    visited.push(name)
    takeB()
  })
  expect(visited).toEqual(['a'])
})
