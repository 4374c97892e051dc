import { expect, it } from 'vitest'
import { randomFrom } from '../../lib/seeded-random.fixture.ts'
import { createJsonWatch } from './json-watch.ts'

function isOpen(...pieces: string[]): boolean {
  const watch = createJsonWatch()
  for (const piece of pieces) watch.feed(piece)
  return watch.isOpen()
}

it('JSON that is cut anywhere is open, and whole JSON is not, however it comes in pieces', () => {
  const seed = 5
  const random = randomFrom(seed)
  const values = [{ a: '"\\{[', b: [1, { c: null }], 'é\n': 'x\u2028' }, [[], [{}]], { path: 'C:\\', quote: '\\"' }]
  let cuts = 0
  for (const value of values) {
    const text = JSON.stringify(value)
    for (let end = 1; end < text.length; end++) {
      const middle = random(end)
      expect(isOpen(text.slice(0, middle), text.slice(middle, end)), text.slice(0, end)).toBe(true)
      cuts++
    }
    expect(isOpen(...text)).toBe(false)
  }
  console.log(`JSON watch: seed ${seed}, ${cuts} cuts`)
})

it.each(['', '  ', '7', 'null', '"x"', '}', "{'a': 1}", '{}}', 'not JSON'])(
  'what is not cut is not open: %s',
  (text) => {
    expect(isOpen(text)).toBe(false)
  },
)
