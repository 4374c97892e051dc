import { expect, it } from 'vitest'
import { toolSchema } from './tool-schema.ts'

it('the top of a schema is an object, without choices', () => {
  expect(toolSchema(undefined)).toEqual({ type: 'object', properties: {} })
  expect(toolSchema({ type: 'string' })).toEqual({ type: 'object', properties: {} })
  expect(toolSchema({ type: ['object', 'null'], properties: null, required: 'a' })).toEqual({
    ...{ type: 'object', properties: {} },
  })
})

it('what was a choice at the top is one object: wanted is what every choice wants', () => {
  const one = { type: 'object', properties: { a: { type: 'string' }, b: {} }, required: ['a', 'b'] }
  const other = { type: 'object', properties: { a: {}, c: {} }, required: ['a'] }
  expect(toolSchema({ anyOf: [one, other, 5] })).toEqual({
    ...{ type: 'object', properties: { a: {}, b: {}, c: {} }, required: ['a'] },
  })
  expect(toolSchema({ required: ['z'], properties: { z: {} }, allOf: [one, other] })).toEqual({
    ...{ type: 'object', properties: { z: {}, a: {}, b: {}, c: {} }, required: ['z', 'a', 'b'] },
  })
})
