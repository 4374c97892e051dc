import { isObject } from '../../src/lib/types.ts'
import { demand } from './strict-request.ts'

const TAKEN = new Set([
  ...['type', 'properties', 'required', 'additionalProperties', 'items', 'enum', 'const', 'anyOf', 'allOf', 'format'],
  ...['$ref', '$defs', 'definitions', 'title', 'description', 'default', 'minItems'],
])

/** A schema that the server can hold an answer to: a part of JSON Schema, with every object closed. */
export function judgeHeldSchema(schema: unknown, where: string): void {
  if (!isObject(schema)) return
  for (const name of Object.keys(schema)) {
    demand(TAKEN.has(name), `output schema: property '${name}' is not supported`, where)
  }
  const types = Array.isArray(schema.type) ? schema.type : [schema.type]
  if (types.includes('object')) {
    const isClosed = schema.additionalProperties === false
    demand(isClosed, "for 'object' type, 'additionalProperties' must be explicitly set to false", where)
  }
  const { items, anyOf, allOf, properties, $defs, definitions } = schema
  for (const inner of [items, ...[anyOf, allOf].flatMap((list) => (Array.isArray(list) ? list : []))]) {
    judgeHeldSchema(inner, where)
  }
  for (const named of [properties, $defs, definitions]) {
    if (isObject(named)) for (const inner of Object.values(named)) judgeHeldSchema(inner, where)
  }
}
