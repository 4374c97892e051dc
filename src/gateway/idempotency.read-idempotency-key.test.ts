import { describe, expect, it } from 'vitest'
import { readIdempotencyKey } from './idempotency.ts'

describe('the header Idempotency-Key', () => {
  it.each([
    ['a', 'a'],
    ['6f1c2d9e-0b7a-4c55-9c0e-3b1d5a7f8e21', '6f1c2d9e-0b7a-4c55-9c0e-3b1d5a7f8e21'],
    ['"in quotes it is the same"'.replaceAll(' ', '-'), 'in-quotes-it-is-the-same'],
    [String.raw`"a\"b\\c"`, String.raw`a"b\c`],
    [String.raw`a\b"c;d=e,f`, String.raw`a\b"c;d=e,f`],
    ['x'.repeat(255), 'x'.repeat(255)],
    [`"${'x'.repeat(255)}"`, 'x'.repeat(255)],
  ])('%s is the key %s', (header, key) => {
    expect(readIdempotencyKey(header)).toEqual({ kind: 'key', key })
  })

  it.each([
    '',
    'two words',
    '""',
    '"two words"',
    '"open',
    '"',
    '"a"b',
    '"a";q=1',
    String.raw`"a\b"`,
    'x'.repeat(256),
    `"${'x'.repeat(256)}"`,
    'tab\there',
    'ümlaut',
    '\x7f',
  ])('%j is none', (header) => {
    expect(readIdempotencyKey(header)).toMatchObject({
      kind: 'invalid',
      problem: { code: 'idempotency_key_invalid', param: 'Idempotency-Key' },
    })
  })
})
