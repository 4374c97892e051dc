import { expect, it } from 'vitest'
import { randomFrom } from '../../../test/fixtures/lib/seeded-random.ts'
import { createInputDecoder } from './custom-tools.ts'

function decode(pieces: readonly string[]): string[] {
  const decoder = createInputDecoder()
  const emitted = pieces.map((piece) => decoder.push(piece))
  emitted.push(decoder.end())
  expect(decoder.heldBytes()).toBe(0)
  return emitted
}

const whole = (text: string) => decode([text]).join('')

const INPUT = '*** "Begin"\\ \n\t\u0001/é漢\u{1f600}\u{10ffff} end'
const asciiOf = (text: string) =>
  JSON.stringify(text).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
const HALF_AT_AN_END = /^[\udc00-\udfff]|[\ud800-\udbff]$/
const SHAPES = [
  JSON.stringify({ input: INPUT }),
  `{"input":${asciiOf(INPUT)}}`,
  ` {\n "input" :\t${asciiOf(INPUT).replaceAll('/', '\\/')} } \n`,
]

it('the input comes out as the client wrote its tool for it, cut at every place, twice', () => {
  for (const text of SHAPES) {
    for (let first = 0; first <= text.length; first++) {
      for (let second = first; second <= text.length; second += 3) {
        const emitted = decode([text.slice(0, first), text.slice(first, second), text.slice(second)])
        expect(emitted.join('')).toBe(INPUT)
        expect(emitted.filter((piece) => HALF_AT_AN_END.test(piece))).toEqual([])
      }
    }
  }
})

it('it streams: what is known is given at once', () => {
  expect(decode(['{"input":"a', 'b\\', 'nc', '"}'])).toEqual(['a', 'b', '\nc', '', ''])
})

it('both halves of a character come together', () => {
  expect(decode(['{"input":"\\ud83d', '\\ude00"}'])).toEqual(['', '\u{1f600}', ''])
  expect(decode(['{"input":"x\ud83d', '\ude00y"}'])).toEqual(['x', '\u{1f600}y', ''])
  expect(whole('{"input":"\\ud83d"}')).toBe('\ud83d')
})

it('what waits is counted', () => {
  const decoder = createInputDecoder()
  decoder.push('{"inp')
  expect(decoder.heldBytes()).toBe(5)
  decoder.push('ut":"ab\\u00')
  expect(decoder.heldBytes()).toBe(4)
  decoder.push('e9')
  expect(decoder.heldBytes()).toBe(0)
})

it('arguments of another shape are the input themselves', () => {
  const others = [
    '',
    '{}',
    '{"input":null}',
    '{"patch":"x"}',
    '"text"',
    '*** Begin',
    '{"inp',
    '[{"input":"x"}]',
    '{"input":{"a":1}}',
  ]
  for (const text of others) {
    expect(whole(text)).toBe(text)
    expect(decode([...text]).join('')).toBe(text)
  }
  const indented = `${' '.repeat(300)}{"input":"x"}`
  expect(whole(indented)).toBe(indented)
})

it('what turns out not to be JSON is given as it stands from there on, and what is cut off as far as it goes', () => {
  expect(whole('{"input":"a\\qb\\uzz"}')).toBe('a\\qb\\uzz')
  expect(whole('{"input":"line\nbreak"}')).toBe('line\nbreak')
  expect(whole('{"input":"cut \\u12')).toBe('cut \\u12')
  expect(whole('{"input":"a","more":"b"}')).toBe('a')
})

it('never throws and never loses what is no escape, whatever comes', () => {
  const seed = 11
  const random = randomFrom(seed)
  const pieces = [
    '{',
    '"',
    'input',
    '":"',
    '\\',
    'u',
    'd83d',
    '\\ude00',
    '}',
    ' ',
    'x',
    '\ud83d',
    '\n',
    'n',
    '{"input":"',
  ]
  let opened = 0
  for (let round = 0; round < 5000; round++) {
    const parts = Array.from({ length: 1 + random(12) }, () => pieces[random(pieces.length)]!)
    const cut = decode(parts).join('')
    expect(cut).toBe(whole(parts.join('')))
    if (cut !== parts.join('')) opened++
  }
  console.log(`custom input: seed ${seed}, 5000 texts, ${opened} of the shape`)
  expect(opened).toBeGreaterThan(100)
})
