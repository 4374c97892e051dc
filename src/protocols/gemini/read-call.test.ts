import { afterEach, expect, it } from 'vitest'
import { addPartialArg, noArgs } from './read-events.ts'

const PATHS = ["$.x['__proto__'].polluted", '$.x.__proto__.polluted', '$.list[0].__proto__.polluted', '$.x.__proto__']

afterEach(() => {
  delete (Object.prototype as Record<string, unknown>).polluted
})

it('a path never leaves the arguments, whatever value stood there before', () => {
  for (const jsonPath of PATHS) {
    const args = Object.assign(noArgs(), { x: {}, list: [{}] })
    addPartialArg(args, { jsonPath, stringValue: 'yes' })
    expect(({} as Record<string, unknown>).polluted, jsonPath).toBeUndefined()
  }
})

it('a name that every object has is only a name', () => {
  const args = Object.assign(noArgs(), { x: {} })
  addPartialArg(args, { jsonPath: '$.x.__proto__.a', stringValue: 'b' })
  addPartialArg(args, { jsonPath: '$.x.constructor', stringValue: 'c' })
  addPartialArg(args, { jsonPath: '$.x.constructor', stringValue: 'd' })
  expect(JSON.stringify(args)).toBe('{"x":{"__proto__":{"a":"b"},"constructor":"cd"}}')
})
