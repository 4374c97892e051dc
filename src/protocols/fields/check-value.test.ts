import { expect, it } from 'vitest'
import { checkValue } from './check-value.ts'

const CAP = { kind: 'integer', min: 1, max: Number.MAX_SAFE_INTEGER } as const
const RANGE = 'it must be between 1 and 9007199254740991.'

it.each([
  ['1e26', 'invalid_value', `\`max_tokens\` is about 1e+26; ${RANGE}`],
  ['9007199254740993', 'invalid_value', `\`max_tokens\` is about 9007199254740992; ${RANGE}`],
  ['1e400', 'invalid_value', `\`max_tokens\` is more than 1.7e308; ${RANGE}`],
  ['-1e400', 'invalid_value', `\`max_tokens\` is less than -1.7e308; ${RANGE}`],
  ['-0', 'invalid_value', `\`max_tokens\` is -0; ${RANGE}`],
  ['0', 'invalid_value', `\`max_tokens\` is 0; ${RANGE}`],
  ['-5', 'invalid_value', `\`max_tokens\` is -5; ${RANGE}`],
  ['1.5', 'invalid_type', '`max_tokens` is 1.5; it must be an integer.'],
  ['1e-400', 'invalid_value', `\`max_tokens\` is 0; ${RANGE}`],
  ['"5"', 'invalid_type', '`max_tokens` is a string; it must be an integer.'],
])('max_tokens: %s is refused by what it is and what it may be', (written, code, message) => {
  expect(checkValue('max_tokens', JSON.parse(written), CAP)).toMatchObject({ code, message, param: 'max_tokens' })
})

it.each(['1', '1e3', '1.0', '9007199254740991'])('max_tokens: %s is taken', (written) => {
  expect(checkValue('max_tokens', JSON.parse(written), CAP)).toBeUndefined()
})
