import fc from 'fast-check'
import { expect, it } from 'vitest'
import { skipComments, skipString, skipValidString, tryParse } from './bytes.ts'

it.each([
  ['{"a":1}', '{"a":1}'],
  ['\n\n \r\n{"a":": x"}\n', '{"a":": x"}\n'],
  [': OPENROUTER PROCESSING\n\n: ping\r\n\n{"a":1}', '{"a":1}'],
  [': never ends', ''],
  ['', ''],
  [' : odd\n[1]', '[1]'],
])('%j is %j', (body, json) => {
  expect(String(skipComments(Buffer.from(body)))).toBe(json)
})

const seed = Number(process.hrtime.bigint() % 1_000_000_000n)

it(`finds the end of exactly the strings that JSON.parse accepts (seed ${seed})`, () => {
  const parts = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom('x'.repeat(31), 'y'.repeat(5), 'ä', '😀', '~') },
    { weight: 4, arbitrary: fc.constantFrom('\\n', '\\"', '\\\\', '\\/', '\\u00e4', '\\uD83d', '\\b') },
    { weight: 1, arbitrary: fc.constantFrom('\n', '\0', '\x1f', '\\', '\\x', '\\u12g4', '\\u12', '"', '\x7f') },
  )
  let accepted = 0
  let refused = 0
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 40 }), fc.nat(7), fc.nat(5), (pieces, before, behind) => {
      const bytes = Buffer.from(`${' '.repeat(before)}"${pieces.join('')}"${' '.repeat(behind)}`).subarray(before)
      const end = skipString(bytes, 0)
      const isValid = end > 0 && tryParse(String(bytes.subarray(0, end))) !== undefined
      expect(skipValidString(bytes, 0)).toBe(isValid ? end : -1)
      if (isValid) accepted += 1
      else refused += 1
    }),
    { seed, numRuns: 3000 },
  )
  expect(accepted).toBeGreaterThan(500)
  expect(refused).toBeGreaterThan(200)
})
