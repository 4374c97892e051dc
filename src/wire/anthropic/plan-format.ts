import { type Fields, isObject } from '../../lib/is-object.ts'
import type { Conversation } from '../../model/conversation.ts'
import type { AnthropicDialect } from './dialects.ts'

/** How the model is made to answer in a form. */
export type FormatPlan =
  | { readonly kind: 'plain' }
  /** It is asked to. */
  | { readonly kind: 'sentence' }
  /** The server holds it to the schema. */
  | { readonly kind: 'held'; readonly schema: Fields }
  /** A tool that it has to call takes the answer. */
  | { readonly kind: 'tool'; readonly name: string; readonly description: string | undefined; readonly schema: Fields }

export function planFormat({ format }: Conversation, { traits, withoutFields }: AnthropicDialect): FormatPlan {
  if (format === undefined || format.type === 'text') return { kind: 'plain' }
  if (format.type !== 'json_schema' || format.schema === undefined) return { kind: 'sentence' }
  const { name, description, schema } = format
  const holds = traits.jsonSchema === 'native' && !withoutFields.includes('output_config')
  if (holds && (canBeHeld(schema) || !traits.forcedToolChoice)) return { kind: 'held', schema: heldSchema(schema) }
  return { kind: 'tool', name, description, schema }
}

/**
 * What of JSON Schema the server holds an answer to. The rest is told to the model in the description, where nobody
 * enforces it.
 */
const TAKEN = new Set([
  ...['type', 'properties', 'required', 'additionalProperties', 'items', 'enum', 'const', 'anyOf', 'allOf'],
  ...['$ref', '$defs', 'definitions', 'title', 'description', 'default'],
])
const FORMATS = new Set([
  ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'],
])
/** Their members are named by the client. */
const NAMED_SCHEMAS = new Set(['properties', '$defs', 'definitions'])
const SCHEMA_LISTS = new Set(['anyOf', 'allOf'])

/** The schema as the server takes it: every object closed, nothing that it does not know. */
export function heldSchema(schema: Fields): Fields {
  const held: Fields = {}
  const told: string[] = []
  for (const [name, value] of Object.entries(schema)) {
    if (name === '$schema') continue
    if (name === 'oneOf') define(held, 'anyOf', heldMember('anyOf', value))
    else if (isTaken(name, value)) define(held, name, heldMember(name, value))
    else told.push(`${name}: ${JSON.stringify(value)}`)
  }
  if (isObjectSchema(schema)) held.additionalProperties = false
  if (told.length > 0) {
    const said = typeof schema.description === 'string' ? `${schema.description}\n` : ''
    held.description = `${said}{${told.join(', ')}}`
  }
  return held
}

/** The server can hold an answer to it as it stands: maps of any names are beyond it. */
export const canBeHeld = (schema: Fields): boolean => !hasOpenMap(schema)

/** Nothing of it would be lost. */
export const isHeldAsIs = (schema: Fields): boolean => sameJson(heldSchema(schema), schema)

const sameJson = (one: unknown, other: unknown): boolean =>
  JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  const names = Object.keys(value).sort()
  return names.map((name) => [name, sorted(value[name])])
}

const isTaken = (name: string, value: unknown): boolean =>
  TAKEN.has(name) ||
  (name === 'format' && typeof value === 'string' && FORMATS.has(value)) ||
  (name === 'minItems' && (value === 0 || value === 1))

/** A name may be `__proto__`. */
const define = (held: Fields, name: string, value: unknown): void => {
  Object.defineProperty(held, name, { value, enumerable: true, writable: true, configurable: true })
}

function heldMember(name: string, value: unknown): unknown {
  if (name === 'items') return isObject(value) ? heldSchema(value) : value
  if (SCHEMA_LISTS.has(name) && Array.isArray(value))
    return value.map((each) => (isObject(each) ? heldSchema(each) : each))
  if (!NAMED_SCHEMAS.has(name) || !isObject(value)) return value
  const held: Fields = {}
  for (const [own, schema] of Object.entries(value)) define(held, own, isObject(schema) ? heldSchema(schema) : schema)
  return held
}

const isObjectSchema = ({ type, properties }: Fields): boolean =>
  type === 'object' || (Array.isArray(type) && type.includes('object')) || isObject(properties)

function hasOpenMap(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasOpenMap)
  if (!isObject(value)) return false
  const { additionalProperties, properties, patternProperties } = value
  const isMap = isObject(additionalProperties) || isObject(patternProperties)
  const isAnything = value.type === 'object' && !isObject(properties) && additionalProperties !== false
  return isMap || isAnything || Object.values(value).some(hasOpenMap)
}
