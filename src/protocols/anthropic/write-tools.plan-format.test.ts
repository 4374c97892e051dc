import { expect, it } from 'vitest'
import { canBeHeld, heldSchema, isHeldAsIs } from './write-tools.ts'

it('closes every object, and moves unknown keywords into the description', () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    description: 'All of it.',
    properties: {
      name: { type: 'string', minLength: 2, pattern: '^a', description: 'Its name.' },
      mail: { type: 'string', format: 'email' },
      odd: { type: 'string', format: 'odd' },
      list: { type: 'array', minItems: 1, maxItems: 3, items: { type: 'object', properties: {} } },
      one: { oneOf: [{ $ref: '#/$defs/part' }, { type: 'null' }] },
      minimum: { type: ['object', 'null'], properties: { a: { const: 1 } } },
    },
    $defs: { part: { properties: { b: { type: 'number', exclusiveMaximum: 5 } } } },
    required: ['name'],
  }
  expect(heldSchema(schema)).toEqual({
    type: 'object',
    description: 'All of it.',
    properties: {
      name: { type: 'string', description: 'Its name.\n{minLength: 2, pattern: "^a"}' },
      mail: { type: 'string', format: 'email' },
      odd: { type: 'string', description: '{format: "odd"}' },
      list: {
        type: 'array',
        minItems: 1,
        items: { type: 'object', properties: {}, additionalProperties: false },
        description: '{maxItems: 3}',
      },
      one: { anyOf: [{ $ref: '#/$defs/part' }, { type: 'null' }] },
      minimum: { type: ['object', 'null'], properties: { a: { const: 1 } }, additionalProperties: false },
    },
    $defs: {
      part: {
        properties: { b: { type: 'number', description: '{exclusiveMaximum: 5}' } },
        additionalProperties: false,
      },
    },
    required: ['name'],
    additionalProperties: false,
  })
})

it('member names are not keywords of a schema, even where they are names that every object has', () => {
  const schema = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string","minLength":1},"constructor":{}}}',
  )
  const held = JSON.stringify(heldSchema(schema))
  expect(held).toContain('"__proto__":{"type":"string","description":"{minLength: 1}"}')
  expect(held).toContain('"constructor":{}')
  expect(() => heldSchema({ items: 5, anyOf: 'x', properties: [1], $defs: { a: true } })).not.toThrow()
})

it('a map of any names cannot be held, a closed object can', () => {
  expect(canBeHeld({ type: 'object', additionalProperties: { type: 'string' } })).toBe(false)
  expect(canBeHeld({ type: 'array', items: { type: 'object' } })).toBe(false)
  expect(canBeHeld({ type: 'object', properties: { a: { type: 'string' } } })).toBe(true)
  expect(canBeHeld({ type: 'object', additionalProperties: false })).toBe(true)
})

it('is enforced as it is where nothing is lost, in any order of its keywords', () => {
  expect(isHeldAsIs({ additionalProperties: false, type: 'object', properties: {} })).toBe(true)
  expect(isHeldAsIs({ type: 'object', properties: {} })).toBe(false)
  expect(isHeldAsIs({ type: 'object', additionalProperties: false, properties: { a: { minimum: 1 } } })).toBe(false)
})
