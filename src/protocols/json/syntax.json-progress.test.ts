import { expect, it } from 'vitest'
import { randomFrom } from '../../../test/fixtures/lib/seeded-random.ts'
import { JsonProgress, type JsonState } from './syntax.ts'

function stateOf(...pieces: string[]): JsonState {
  const progress = new JsonProgress()
  for (const piece of pieces) progress.feed(piece)
  return progress.state
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

it('JSON that is cut anywhere is cut, and whole JSON is whole, however it comes in pieces', () => {
  const seed = 5
  const random = randomFrom(seed)
  const values = [
    { a: '"\\{[', b: [1, { c: null }], 'é\n': 'x\u2028' },
    [[], [{}], -0.5e-7, true, false],
    { path: 'C:\\', quote: '\\"', '': '\u0000' },
  ]
  let cuts = 0
  for (const value of values) {
    const text = JSON.stringify(value, null, cuts % 2)
    for (let end = 1; end < text.length; end++) {
      const middle = random(end)
      expect(stateOf(text.slice(0, middle), text.slice(middle, end)), text.slice(0, end)).toBe('incomplete')
      cuts++
    }
    expect(stateOf(...text)).toBe('whole')
  }
  console.log(`JSON in pieces: seed ${seed}, ${cuts} cuts`)
})

it('is whole exactly where a parser takes it, whatever is changed in it', () => {
  const seed = 17
  const random = randomFrom(seed)
  const letters = [...'{}[]",:\\ \n\t\u0001eE+-.0123u/atruefalsn']
  const texts = [
    '{"a":[1,-2.5e+3,"\\u00e9\\n"],"b":{"c":true,"d":null}}',
    '[false,0,{"":[]}]',
    '"x\\"y"',
    '-0.1',
    'null',
  ]
  const seen = { whole: 0, incomplete: 0, broken: 0, empty: 0 }
  for (let round = 0; round < 20_000; round++) {
    let text = texts[random(texts.length)]!
    for (let changes = random(3); changes >= 0; changes--) {
      const at = random(text.length + 1)
      const letter = letters[random(letters.length)]!
      text = text.slice(0, at) + (random(2) === 0 ? letter : '') + text.slice(at + random(2))
    }
    const at = random(text.length + 1)
    const state = stateOf(text.slice(0, at), text.slice(at))
    expect(state === 'whole', JSON.stringify(text)).toBe(parses(text))
    // What has broken stays so, whatever follows; what is cut can be made whole.
    if (state === 'broken') expect(stateOf(text, letters[random(letters.length)]!)).toBe('broken')
    seen[state]++
  }
  console.log(`JSON in pieces: seed ${seed}, ${JSON.stringify(seen)}`)
  for (const state of ['whole', 'incomplete', 'broken'] as const) expect(seen[state]).toBeGreaterThan(100)
})

it.each([
  ['', 'empty'],
  ['  ', 'empty'],
  ['7', 'whole'],
  ['-', 'incomplete'],
  ['1.', 'incomplete'],
  ['nul', 'incomplete'],
  ['null', 'whole'],
  ['"x"', 'whole'],
  ['}', 'broken'],
  ["{'a': 1}", 'broken'],
  ['{}}', 'broken'],
  ['{"a":}', 'broken'],
  ['{"a":1,}', 'broken'],
  ['[1 2]', 'broken'],
  ['01', 'broken'],
  ['01 ', 'broken'],
  ['not JSON', 'broken'],
  ['{"a":"line\nbreak"}', 'broken'],
] as const)('%j is %s', (text, state) => {
  expect(stateOf(text)).toBe(state)
})
