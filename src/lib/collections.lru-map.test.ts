import { expect, it } from 'vitest'
import { createLruMap } from './collections.ts'

it('makes room by what was not used for the longest time', () => {
  const map = createLruMap<string, number>(2)
  map.set('a', 1)
  map.set('b', 2)
  expect(map.get('a')).toBe(1)
  map.set('c', 3)
  expect([...map.entries()]).toEqual([
    ['a', 1],
    ['c', 3],
  ])
  map.set('a', 4)
  expect(map.size).toBe(2)
  map.delete('c')
  expect(map.get('c')).toBeUndefined()
  map.clear()
  expect(map.size).toBe(0)
})

it('keeps the order when the newest key is read, removed and set again', () => {
  const map = createLruMap<string, number>(3)
  map.set('a', 1)
  map.set('b', 2)
  map.get('b')
  map.delete('b')
  map.set('c', 3)
  map.set('b', 4)
  map.get('a')
  map.get('a')
  map.set('d', 5)
  expect([...map.entries()].map(([key]) => key)).toEqual(['b', 'a', 'd'])
})
