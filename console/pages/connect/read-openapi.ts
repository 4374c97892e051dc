type Json = Readonly<Record<string, unknown>>

/** A value of a request or an answer, with the names above it: `tools[].name`. */
export interface SchemaField {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly description: string
}

export interface ApiOperation {
  readonly method: string
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly description: string
  readonly parameters: readonly SchemaField[]
  readonly body: readonly SchemaField[]
  /** JSON. */
  readonly example: string | undefined
  readonly answers: readonly {
    readonly status: string
    readonly description: string
    readonly fields: readonly SchemaField[]
  }[]
}

const record = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/** The routes of an OpenAPI document, in its order. */
export function readOpenApi(given: unknown): ApiOperation[] {
  const document = record(given)
  const at = (value: unknown): Json => {
    const node = record(value)
    const path = text(node.$ref)
    if (!path.startsWith('#/')) return node
    return record(
      path
        .slice(2)
        .split('/')
        .reduce<unknown>((inner, name) => record(inner)[name], document),
    )
  }
  return Object.entries(record(document.paths)).flatMap(([path, methods]) =>
    METHODS.flatMap((method) => {
      const operation = record(methods)[method]
      return operation === undefined ? [] : [readOperation(method.toUpperCase(), path, record(operation), at)]
    }),
  )
}

type Resolve = (value: unknown) => Json

function readOperation(method: string, path: string, operation: Json, at: Resolve): ApiOperation {
  const [body] = contentOf(at(operation.requestBody))
  return {
    ...{ method, path, tag: text(list(operation.tags)[0]), summary: text(operation.summary) },
    description: text(operation.description),
    parameters: list(operation.parameters).map((each) => {
      const { name, in: where, required, schema, description } = at(each)
      return {
        ...{ name: text(name), type: `${typeOf(at(schema), at)}, ${text(where)}`, required: required === true },
        description: text(description) || text(at(schema).description),
      }
    }),
    body: body === undefined ? [] : fieldsOf(body.schema, at),
    example: body?.example === undefined ? undefined : JSON.stringify(body.example, null, 2),
    answers: Object.entries(record(operation.responses)).map(([status, answer]) => {
      const [content] = contentOf(at(answer))
      return {
        ...{ status, description: text(at(answer).description) },
        fields: content === undefined ? [] : fieldsOf(content.schema, at),
      }
    }),
  }
}

/** What each media type has; JSON comes first in a document. */
const contentOf = ({ content }: Json): Json[] => Object.values(record(content)).map(record)

/** A bound for what a page shows of one schema, which may refer to itself. */
const DEPTH_MAX = 3
const FIELDS_MAX = 200

function fieldsOf(schema: unknown, at: Resolve): SchemaField[] {
  const fields: SchemaField[] = []
  const walk = (given: unknown, prefix: string, depth: number) => {
    const node = innermost(at(given), at)
    const required = list(node.required)
    for (const [name, property] of Object.entries(record(node.properties))) {
      if (fields.length >= FIELDS_MAX) return
      const inner = at(property)
      const full = `${prefix}${name}`
      fields.push({
        ...{ name: full, type: typeOf(inner, at), required: required.includes(name) },
        description: text(inner.description),
      })
      if (depth < DEPTH_MAX) walk(inner, isList(inner, at) ? `${full}[].` : `${full}.`, depth + 1)
    }
  }
  walk(schema, '', 0)
  return fields
}

/** An object behind a list, or among the alternatives with null. */
function innermost(node: Json, at: Resolve): Json {
  if (node.items !== undefined) return innermost(at(node.items), at)
  const some = list(node.anyOf ?? node.oneOf)
    .map(at)
    .filter(({ type }) => type !== 'null')
  return some.length === 1 ? innermost(some[0]!, at) : node
}

const isList = (node: Json, at: Resolve): boolean =>
  node.type === 'array' || list(node.anyOf ?? node.oneOf).some((each) => at(each).type === 'array')

function typeOf(node: Json, at: Resolve): string {
  if (node.const !== undefined) return JSON.stringify(node.const)
  if (Array.isArray(node.enum)) return node.enum.map((value) => JSON.stringify(value)).join(' | ')
  const some = list(node.anyOf ?? node.oneOf)
  if (some.length > 0) return [...new Set(some.map((each) => typeOf(at(each), at)))].join(' | ')
  if (node.type === 'array') return `${typeOf(at(node.items), at)}[]`
  if (Array.isArray(node.type)) return node.type.join(' | ')
  return text(node.type) || 'any'
}
