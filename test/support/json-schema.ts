import { isDeepStrictEqual } from 'node:util'
import { type Fields, isObject } from '../../src/lib/types.ts'

/** Where a value is not what its schema says. */
export interface SchemaFinding {
  /** As in `/output/0/type`. */
  readonly place: string
  readonly value: unknown
  readonly message: string
}

/** Checks values against the schemas of one document, as far as OpenAPI documents use JSON Schema. */
export interface SchemaChecker {
  check(schema: unknown, value: unknown): SchemaFinding[]
}

/** Say nothing about values. Any other unknown keyword is an error: it would be ignored without a word. */
const ANNOTATIONS = new Set(['title', 'description', 'default', 'example', 'examples', 'format', 'deprecated'])

interface Visit {
  readonly schema: Fields
  readonly value: unknown
  readonly place: string
  check(schema: unknown, value: unknown, place: string): SchemaFinding[]
}

type Rule = (emitted: unknown, visit: Visit) => SchemaFinding[]

export function createSchemaChecker(document: Fields): SchemaChecker {
  const check = (schema: unknown, value: unknown, place: string): SchemaFinding[] => {
    if (schema === true) return []
    if (!isObject(schema)) throw new Error(`no schema at ${place}: ${JSON.stringify(schema)}`)
    const visit: Visit = { schema, value, place, check }
    return Object.entries(schema).flatMap(([keyword, emitted]) => {
      if (keyword === '$ref') return check(lookUp(document, String(emitted)), value, place)
      if (ANNOTATIONS.has(keyword) || keyword.startsWith('x-')) return []
      const rule = RULES[keyword]
      if (rule === undefined) throw new Error(`the keyword ${keyword} is not understood`)
      return value === null && schema.nullable === true ? [] : rule(emitted, visit)
    })
  }
  return { check: (schema, value) => check(schema, value, '') }
}

function lookUp(document: Fields, reference: string): unknown {
  const found = reference
    .replace(/^#\//, '')
    .split('/')
    .reduce<unknown>((inside, name) => (isObject(inside) ? inside[name] : undefined), document)
  if (found === undefined) throw new Error(`the document has no ${reference}`)
  return found
}

const finding = ({ place, value }: Visit, message: string): SchemaFinding[] => [{ place, value, message }]
const insist = (holds: boolean, visit: Visit, message: string) => (holds ? [] : finding(visit, message))
const listOf = (emitted: unknown): unknown[] => (Array.isArray(emitted) ? emitted : [emitted])

const RULES: Readonly<Record<string, Rule>> = {
  type: (emitted, visit) =>
    insist(
      listOf(emitted).some((type) => isOfType(visit.value, type)),
      visit,
      `is no ${emitted}`,
    ),
  enum: (emitted, visit) =>
    insist(listOf(emitted).includes(visit.value), visit, `is none of ${listOf(emitted).join(', ')}`),
  const: (emitted, visit) =>
    insist(isDeepStrictEqual(emitted, visit.value), visit, `is not ${JSON.stringify(emitted)}`),
  required: (emitted, visit) =>
    listOf(emitted).flatMap((name) =>
      isObject(visit.value) && !(String(name) in visit.value) ? finding(visit, `has no ${name}`) : [],
    ),
  properties: (emitted, { value, place, check }) =>
    isObject(emitted) && isObject(value)
      ? Object.entries(emitted).flatMap(([name, schema]) =>
          name in value ? check(schema, value[name], `${place}/${name}`) : [],
        )
      : [],
  additionalProperties: (emitted, visit) => checkAdditional(emitted, visit),
  items: (emitted, { value, place, check }) =>
    Array.isArray(value) ? value.flatMap((item, at) => check(emitted, item, `${place}/${at}`)) : [],
  allOf: (emitted, { value, place, check }) => listOf(emitted).flatMap((schema) => check(schema, value, place)),
  anyOf: (emitted, visit) => checkBranches(listOf(emitted), visit, Number.POSITIVE_INFINITY),
  oneOf: (emitted, visit) => checkBranches(listOf(emitted), visit, 1),
  // Only says which branch is meant; the branches say it too, by the one value that they allow.
  discriminator: () => [],
  nullable: () => [],
  minimum: (emitted, visit) => insist(!(Number(visit.value) < Number(emitted)), visit, `is below ${emitted}`),
  maximum: (emitted, visit) => insist(!(Number(visit.value) > Number(emitted)), visit, `is above ${emitted}`),
  minLength: (emitted, visit) =>
    insist(!(lengthOf(visit.value) < Number(emitted)), visit, `is shorter than ${emitted}`),
  maxLength: (emitted, visit) => insist(!(lengthOf(visit.value) > Number(emitted)), visit, `is longer than ${emitted}`),
  minItems: (emitted, visit) => insist(!(lengthOf(visit.value) < Number(emitted)), visit, `has fewer than ${emitted}`),
  maxItems: (emitted, visit) => insist(!(lengthOf(visit.value) > Number(emitted)), visit, `has more than ${emitted}`),
  maxProperties: (emitted, visit) =>
    insist(
      !(isObject(visit.value) && Object.keys(visit.value).length > Number(emitted)),
      visit,
      `has more than ${emitted}`,
    ),
  pattern: (emitted, visit) =>
    insist(
      typeof visit.value !== 'string' || new RegExp(String(emitted)).test(visit.value),
      visit,
      `is not ${emitted}`,
    ),
}

const lengthOf = (value: unknown): number =>
  typeof value === 'string' || Array.isArray(value) ? value.length : Number.NaN

function isOfType(value: unknown, type: unknown): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}

function checkAdditional(emitted: unknown, { schema, value, place, check }: Visit): SchemaFinding[] {
  if (!isObject(value)) return []
  const known = isObject(schema.properties) ? schema.properties : {}
  return Object.entries(value)
    .filter(([name]) => !(name in known))
    .flatMap(([name, inside]) =>
      emitted === false
        ? [{ place: `${place}/${name}`, value: inside, message: 'is not allowed' }]
        : check(emitted, inside, `${place}/${name}`),
    )
}

/** Where no branch fits, what the nearest one has to say: the one that gets furthest before something is wrong. */
function checkBranches(branches: readonly unknown[], visit: Visit, most: number): SchemaFinding[] {
  const results = branches.map((branch) => visit.check(branch, visit.value, visit.place))
  const fitting = results.filter((found) => found.length === 0).length
  if (fitting > 0) return insist(fitting <= most, visit, `fits ${fitting} branches`)
  const inside = results.filter((found) => found.every(({ place }) => place !== visit.place && !isTag(place, visit)))
  return inside.length === 1 ? inside[0]! : finding(visit, 'fits no branch')
}

const isTag = (place: string, { place: here }: Visit): boolean => place === `${here}/type`
