import { expect, it } from 'vitest'
import { skipComments } from './bytes.ts'

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
