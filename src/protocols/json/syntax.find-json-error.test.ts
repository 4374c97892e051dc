import { describe, expect, it } from 'vitest'
import { findJsonError } from './syntax.ts'

describe('findJsonError', () => {
  it.each([
    ['{"a":1,}', 7, 'a name in double quotes'],
    ['{"a" 1}', 5, "':'"],
    ['{"a":1 "b":2}', 7, "',' or '}'"],
    ['{"a":[1,]}', 8, 'a value'],
    ['{"a":"x\ny"}', 7, 'control characters in a string to be escaped'],
    ['{"a":"\\q"}', 6, 'an escape that JSON knows'],
    ['{"a":1', 6, "',' or '}'"],
    ['{} {}', 3, 'the end of the body'],
    ['', 0, 'a value'],
    ['{"a":1.}', 6, "',' or '}'"],
    ['{"a":01}', 6, "',' or '}'"],
    ['{"a":-}', 5, 'a value'],
    ['{"a":1e+}', 6, "',' or '}'"],
    ['{"a":tru}', 5, 'a value'],
    ['{"a":"xy', 8, "a closing '\"'"],
  ])('says where %j breaks', (text, offset, expected) => {
    expect(findJsonError(Buffer.from(text))).toEqual({ offset, expected })
  })

  it.each(['0', '-0', '12', '-3.50', '1e9', '1E-9', '0.1e+2', 'true', 'false', 'null', '"\\u00e9"'])(
    'finds nothing wrong with %s',
    (value) => {
      expect(findJsonError(Buffer.from(`{"a":[${value},${value}]}`))).toBeUndefined()
    },
  )
})
