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

/** Say nothing about values. Any other keyword that nobody knows is an error: it would be ignored without a word. */
const ANNOTATIONS = new Set(['title', 'description', 'default', 'example', 'examples', 'format', 'deprecated'])

interface Visit {
  readonly schema: Fields
  readonly value: unknown
  readonly place: string
  check(schema: unknown, value: unknown, place: string): SchemaFinding[]
}

type Rule = (said: unknown, visit: Visit) => SchemaFinding[]

export function createSchemaChecker(document: Fields): SchemaChecker {
  const check = (schema: unknown, value: unknown, place: string): SchemaFinding[] => {
    if (schema === true) return []
    if (!isObject(schema)) throw new Error(`no schema at ${place}: ${JSON.stringify(schema)}`)
    const visit: Visit = { schema, value, place, check }
    return Object.entries(schema).flatMap(([keyword, said]) => {
      if (keyword === '$ref') return check(lookUp(document, String(said)), value, place)
      if (ANNOTATIONS.has(keyword) || keyword.startsWith('x-')) return []
      const rule = RULES[keyword]
      if (rule === undefined) throw new Error(`the keyword ${keyword} is not understood`)
      return value === null && schema.nullable === true ? [] : rule(said, visit)
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
const listOf = (said: unknown): unknown[] => (Array.isArray(said) ? said : [said])

const RULES: Readonly<Record<string, Rule>> = {
  type: (said, visit) =>
    insist(
      listOf(said).some((type) => isOfType(visit.value, type)),
      visit,
      `is no ${said}`,
    ),
  enum: (said, visit) => insist(listOf(said).includes(visit.value), visit, `is none of ${listOf(said).join(', ')}`),
  const: (said, visit) => insist(isDeepStrictEqual(said, visit.value), visit, `is not ${JSON.stringify(said)}`),
  required: (said, visit) =>
    listOf(said).flatMap((name) =>
      isObject(visit.value) && !(String(name) in visit.value) ? finding(visit, `has no ${name}`) : [],
    ),
  properties: (said, { value, place, check }) =>
    isObject(said) && isObject(value)
      ? Object.entries(said).flatMap(([name, schema]) =>
          name in value ? check(schema, value[name], `${place}/${name}`) : [],
        )
      : [],
  additionalProperties: (said, visit) => checkAdditional(said, visit),
  items: (said, { value, place, check }) =>
    Array.isArray(value) ? value.flatMap((item, at) => check(said, item, `${place}/${at}`)) : [],
  allOf: (said, { value, place, check }) => listOf(said).flatMap((schema) => check(schema, value, place)),
  anyOf: (said, visit) => checkBranches(listOf(said), visit, Number.POSITIVE_INFINITY),
  oneOf: (said, visit) => checkBranches(listOf(said), visit, 1),
  // Only says which branch is meant; the branches say it too, by the one value that they allow.
  discriminator: () => [],
  nullable: () => [],
  minimum: (said, visit) => insist(!(Number(visit.value) < Number(said)), visit, `is below ${said}`),
  maximum: (said, visit) => insist(!(Number(visit.value) > Number(said)), visit, `is above ${said}`),
  minLength: (said, visit) => insist(!(lengthOf(visit.value) < Number(said)), visit, `is shorter than ${said}`),
  maxLength: (said, visit) => insist(!(lengthOf(visit.value) > Number(said)), visit, `is longer than ${said}`),
  minItems: (said, visit) => insist(!(lengthOf(visit.value) < Number(said)), visit, `has fewer than ${said}`),
  maxItems: (said, visit) => insist(!(lengthOf(visit.value) > Number(said)), visit, `has more than ${said}`),
  maxProperties: (said, visit) =>
    insist(!(isObject(visit.value) && Object.keys(visit.value).length > Number(said)), visit, `has more than ${said}`),
  pattern: (said, visit) =>
    insist(typeof visit.value !== 'string' || new RegExp(String(said)).test(visit.value), visit, `is not ${said}`),
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

function checkAdditional(said: unknown, { schema, value, place, check }: Visit): SchemaFinding[] {
  if (!isObject(value)) return []
  const known = isObject(schema.properties) ? schema.properties : {}
  return Object.entries(value)
    .filter(([name]) => !(name in known))
    .flatMap(([name, inside]) =>
      said === false
        ? [{ place: `${place}/${name}`, value: inside, message: 'is not allowed' }]
        : check(said, inside, `${place}/${name}`),
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
