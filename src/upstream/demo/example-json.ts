import { isObject } from '../../lib/is-object.ts'

const DEPTH_MAX = 4

/** What fits a schema, of a tool or of an answer, as far as a schema says it plainly. */
export const exampleJson = (schema: Record<string, unknown>): string => JSON.stringify(exampleOf(schema, 0))

function exampleOf(schema: Record<string, unknown>, depth: number): unknown {
  const options = schema.enum
  if (Array.isArray(options) && options.length > 0) return options[0]
  switch (schema.type) {
    case 'string':
      return 'demo'
    case 'number':
    case 'integer':
      return 1
    case 'boolean':
      return true
    case 'array':
      return []
    default:
      return depth < DEPTH_MAX ? exampleObject(schema, depth) : {}
  }
}

function exampleObject({ properties }: Record<string, unknown>, depth: number): Record<string, unknown> {
  if (!isObject(properties)) return {}
  return Object.fromEntries(
    Object.entries(properties).map(([name, inner]) => [name, exampleOf(isObject(inner) ? inner : {}, depth + 1)]),
  )
}
