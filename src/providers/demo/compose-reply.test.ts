import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { exampleJson } from './compose-reply.ts'

const object = (properties: object, over: object = {}) => ({ type: 'object', properties, ...over })

const SCHEMAS: Readonly<Record<string, Record<string, unknown>>> = {
  nothing: {},
  'no properties': { type: 'object' },
  'plain types': object({ a: { type: 'string' }, b: { type: 'number' }, c: { type: 'boolean' }, d: { type: 'null' } }),
  'what is required, of more': object({ a: { type: 'string' }, b: { type: 'array' } }, { required: ['a'] }),
  'an enum, a const and a default': object({
    a: { enum: ['x', 'y'] },
    b: { const: 7 },
    c: { type: 'integer', default: 3 },
  }),
  'several types': object({ a: { type: ['null', 'integer'] } }),
  alternatives: object({
    a: { anyOf: [{ type: 'null' }, { type: 'string', minLength: 9 }] },
    b: { oneOf: [{ type: 'integer', minimum: 4 }, { type: 'string' }] },
  }),
  'a reference': object(
    { to: { $ref: '#/$defs/place' } },
    { $defs: { place: object({ town: { type: 'string' } }, { required: ['town'] }) }, required: ['to'] },
  ),
  'parts of a whole': {
    allOf: [
      object({ a: { type: 'string' } }, { required: ['a'] }),
      object({ b: { type: 'integer' } }, { required: ['b'] }),
    ],
  },
  'lists with a least length': object({ a: { type: 'array', minItems: 2, items: object({ n: { type: 'integer' } }) } }),
  'bounds of numbers': object({
    a: { type: 'integer', minimum: 10, maximum: 20 },
    b: { type: 'integer', exclusiveMinimum: 1 },
    c: { type: 'number', maximum: -3 },
    d: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
    e: { type: 'integer', multipleOf: 5 },
    f: { type: 'integer', exclusiveMaximum: 1 },
  }),
  'bounds of texts': object({ a: { type: 'string', minLength: 12 }, b: { type: 'string', maxLength: 2 } }),
  formats: object(
    Object.fromEntries(
      ['date', 'date-time', 'email', 'uri', 'uuid', 'ipv4', 'ipv6'].map((format) => [
        format,
        { type: 'string', format },
      ]),
    ),
  ),
}

const times = <Value>(count: number, of: (index: number) => Value) => Array.from({ length: count }, (_, at) => of(at))

/** Each asks for far more than anybody reads. */
function hostileSchemas(): Readonly<Record<string, Record<string, unknown>>> {
  const named = (count: number, of: (index: number) => unknown) =>
    Object.fromEntries(times(count, (index) => [`p${index}`, of(index)]))
  const everyOther = { $defs: named(20, () => object(named(20, (index) => ({ $ref: `#/$defs/p${index}` })))) }
  const required = times(20, (index) => `p${index}`)
  const levels = named(9, (level) =>
    object(
      named(20, () => ({ $ref: `#/$defs/p${level + 1}` })),
      { required },
    ),
  )
  const refersTo = (large: object) =>
    object(
      named(100, () => ({ $ref: '#/$defs/large' })),
      { $defs: { large } },
    )
  return {
    'all of it in each of twenty': object(named(20, () => ({ $ref: '#' }))),
    'twenty that refer to each other': { ...everyOther, $ref: '#/$defs/p0' },
    'twenty of twenty, and so on, without a circle': { $defs: levels, $ref: '#/$defs/p0' },
    'many names': object(named(50_000, () => ({ type: 'string', minLength: 1e9 }))),
    'many names, each referred to': refersTo(object(named(50_000, () => ({})))),
    'many required names': object({}, { required: times(50_000, (index) => `p${index}`) }),
    'the same required name': refersTo(object({}, { required: times(50_000, () => 'p0') })),
    'a long name': refersTo(object({ ['n'.repeat(1e5)]: {} })),
    'long texts': refersTo({ type: 'string', minLength: 1e9 }),
    'long lists': refersTo({ type: 'array', minItems: 1e9, items: { type: 'string', minLength: 1e9 } }),
    'a large enum': refersTo({ enum: times(1000, () => 'e'.repeat(1000)) }),
    'a large value': refersTo({ const: times(50_000, (index) => index) }),
    'a long value': refersTo({ default: 'd'.repeat(1e5) }),
    'many parts': refersTo({ allOf: times(50_000, (index) => object({ [`p${index}`]: {} })) }),
    'many alternatives': refersTo({ anyOf: times(50_000, () => ({ type: 'null' })) }),
  }
}

/** Counts what is read of a schema, because time would be no proof. */
function countReads(given: Record<string, unknown>) {
  let reads = 0
  const known = new WeakMap<object, object>()
  const watched = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const one = known.get(value) ?? new Proxy(value, { get: (of, name) => read(Reflect.get(of, name)) })
    known.set(value, one)
    return one
  }
  const read = (value: unknown) => {
    if (++reads > READS_MAX) throw new Error('this much is read of no schema')
    return watched(value)
  }
  return { schema: watched(given) as Record<string, unknown>, reads: () => reads }
}

const READS_MAX = 1e6

describe('an example of a schema', () => {
  it.each(Object.entries(SCHEMAS))('fits it: %s', (_name, schema) => {
    const example: unknown = JSON.parse(exampleJson(schema))
    expect(z.fromJSONSchema(schema as never).safeParse(example).error).toBeUndefined()
  })

  it('has the required properties, or all when none is required', () => {
    const properties = { a: { type: 'string' }, b: { type: 'integer' } }
    expect(JSON.parse(exampleJson(object(properties, { required: ['b'] })))).toEqual({ b: 1 })
    expect(JSON.parse(exampleJson(object(properties)))).toEqual({ a: 'demo', b: 1 })
    expect(JSON.parse(exampleJson(object({}, { required: ['unknown'] })))).toEqual({ unknown: 'demo' })
  })

  it('terminates on recursive schemas', () => {
    const next = { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] }
    const node = object({ value: { type: 'integer' }, next }, { required: ['value', 'next'] })
    const list = object({ list: { $ref: '#/$defs/node' } }, { $defs: { node }, required: ['list'] })
    expect(JSON.parse(exampleJson(list))).toEqual({ list: { value: 1, next: null } })
    const leaf = object({ name: { type: 'string' } }, { required: ['name'] })
    const children = { type: 'array', minItems: 1, items: { $ref: '#/$defs/any' } }
    const branch = object({ children }, { required: ['children'] })
    const any = { oneOf: [{ $ref: '#/$defs/branch' }, { $ref: '#/$defs/leaf' }] }
    const tree = { $ref: '#/$defs/branch', $defs: { leaf, branch, any } }
    expect(JSON.parse(exampleJson(tree))).toEqual({ children: [{ name: 'demo' }] })
  })

  it.each(Object.entries(hostileSchemas()))('is small and fast: %s', (_name, schema) => {
    const seen = countReads(schema)
    expect(exampleJson(seen.schema).length).toBeLessThan(8000)
    expect(seen.reads()).toBeLessThan(200_000)
  })

  it('terminates on any reference', () => {
    const endless = { $defs: { node: object({ next: { $ref: '#/$defs/node' } }) }, $ref: '#/$defs/node' }
    expect(JSON.parse(exampleJson(endless))).toBeTypeOf('object')
    expect(JSON.parse(exampleJson({ $ref: '#' }))).toEqual({})
    expect(JSON.parse(exampleJson({ $ref: '#/__proto__/constructor' }))).toEqual({})
    const long = object({ a: { type: 'string', minLength: 1e12 }, b: { type: 'array', minItems: 1e12 } })
    expect(exampleJson(long).length).toBeLessThan(2000)
  })
})
