import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isMarkedNumber, markNumbers, restoreNumbers, restoreNumbersIn } from './exact-numbers.ts'

const seed = Number(process.hrtime.bigint() % 1_000_000_000n)

const written = (json: string): string => {
  const value: unknown = JSON.parse(markNumbers(Buffer.from(json)).toString('utf8'))
  return restoreNumbers(Buffer.from(JSON.stringify(value))).toString('utf8')
}

it.each([
  '{"id":9007199254740993}',
  '[1.10,-0,1e2,1E+400,0.10000000000000000555,12345678901234567890,-1.0]',
  '{"a":{"b":[{"c":1.0}]},"d":"1.0 and 9007199254740993","e":"\\"2.50\\""}',
  '1.50',
])('%s is written as it was read', (json) => {
  expect(written(json)).toBe(json)
})

it('numbers that come back anyway stay numbers, and their bytes the same bytes', () => {
  const json = Buffer.from('{"a":1,"b":-2.5,"c":"3.0","d":[0,123456789012345,0.00000123456789]}')
  expect(markNumbers(json)).toBe(json)
  expect(restoreNumbers(json)).toBe(json)
})

it('a number in text inside of text is restored too', () => {
  const inner = JSON.parse(markNumbers(Buffer.from('{"most":1.10}')).toString('utf8')) as object
  const delivered = JSON.stringify({ description: `{most: ${JSON.stringify(inner)}}` })
  expect(restoreNumbersIn(delivered)).toBe('{"description":"{most: {\\"most\\":1.10}}"}')
  const twice = JSON.stringify({ emitted: delivered })
  expect(restoreNumbersIn(twice)).toBe(JSON.stringify({ emitted: '{"description":"{most: {\\"most\\":1.10}}"}' }))
})

it('what is no JSON is left to the parser', () => {
  for (const json of ['{"a":01.0}', '{"a":1.0.0}', '[--1]', '{"a":"1.0', '1.', ''])
    expect(markNumbers(Buffer.from(json)).toString()).toBe(json)
})

it('of more numbers than anybody writes the first are kept', () => {
  const json = `[${'1.0,'.repeat(200_000)}1.0]`
  const values = JSON.parse(markNumbers(Buffer.from(json)).toString('utf8')) as unknown[]
  expect(values.filter(isMarkedNumber)).toHaveLength(50_000)
  expect(values.at(-1)).toBe(1)
})

it('only marked numbers are', () => {
  const [marked, plain] = JSON.parse(markNumbers(Buffer.from('[1.0,"number-1.0"]')).toString('utf8')) as unknown[]
  expect(isMarkedNumber(marked)).toBe(true)
  expect(isMarkedNumber(plain)).toBe(false)
})

/** As JSON.stringify spells everything but its numbers. */
const digits = fc.tuple(
  fc.constantFrom('', '-'),
  fc.oneof(fc.nat().map(String), fc.bigInt({ min: 1n, max: 10n ** 40n }).map(String)),
  fc.oneof(fc.constant(''), fc.stringMatching(/^\.\d{1,25}$/)),
  fc.oneof(fc.constant(''), fc.stringMatching(/^[eE][+-]?\d{1,3}$/)),
)
const json = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    digits.map((parts) => parts.join('')),
    fc.string({ unit: 'binary', maxLength: 20 }).map((text) => JSON.stringify(text)),
    fc.array(tie('value'), { maxLength: 4 }).map((values) => `[${values.join(',')}]`),
    fc.array(tie('value'), { maxLength: 4 }).map((values) => `{${values.map((each, at) => `"k${at}":${each}`)}}`),
  ),
})).value

it(`any JSON is written as it was read (seed ${seed})`, () => {
  fc.assert(
    fc.property(json, (text) => {
      expect(written(text)).toBe(text)
    }),
    { seed, numRuns: 2000 },
  )
})
