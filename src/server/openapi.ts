import { z } from 'zod'
import { ADMIN_ROUTES, type AdminRouteName } from '../contract/admin-api.ts'
import { ADMIN_SCOPES } from '../contract/admin-keys.ts'
import type { AnyAdminRoute } from '../contract/admin-route.ts'
import { errorEnvelope, V1_API, type V1Fields } from '../contract/v1-api.ts'
import { CHAT_FIELDS } from '../protocols/chat/parse-request.ts'
import type { ValueCheck } from '../protocols/fields/check-value.ts'
import type { FieldPolicy, FieldTable } from '../protocols/fields/read-fields.ts'
import { RESPONSES_FIELDS } from '../protocols/responses/fields.ts'
import { ADMIN_BASE } from './paths.ts'
import type { RequestContext } from './request-context.ts'
import { sendJsonBytes } from './respond.ts'

type Json = Readonly<Record<string, unknown>>

/** `GET /openapi.json`: the same for everyone, and so made once. */
export function serveOpenApi(context: RequestContext): void {
  const { publicUrl = '/' } = context.edge.about
  if (made?.publicUrl !== publicUrl)
    made = { publicUrl, bytes: Buffer.from(JSON.stringify(openApiDocument(publicUrl))) }
  sendJsonBytes(context, 200, made.bytes, { 'cache-control': 'public, max-age=300' })
}
let made: { readonly publicUrl: string; readonly bytes: Buffer } | undefined

/** An OpenAPI 3.1 document of `/v1` and `/admin/v1`, made from the schemas that check the requests. */
export const openApiDocument = (publicUrl = '/') => ({
  openapi: '3.1.0',
  info: {
    title: 'Millrace',
    version: '1',
    description:
      'A gateway for language models: the API of clients at /v1, and the management API of operators at /admin/v1. ' +
      'Objects of /v1 may have more members than the schemas name.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  servers: [{ url: publicUrl }],
  tags: [
    { name: 'v1', description: 'Models, for clients with an API key' },
    { name: 'admin', description: 'Management, for programs with an admin key' },
  ],
  paths: pathsOf([...v1Operations(), ...adminOperations()]),
  components: {
    securitySchemes: {
      apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: mr_wallet_… or mr_builder_…' },
      adminKey: {
        type: 'http',
        scheme: 'bearer',
        description: `An admin key: mra_…. Its scopes: ${ADMIN_SCOPES.join(', ')}.`,
      },
    },
    schemas: { Error: schemaOf(errorEnvelope, 'output') },
    parameters: {
      IdempotencyKey: {
        ...{ name: 'Idempotency-Key', in: 'header', required: false },
        description:
          'Names the request, e.g. with a UUID. For a day a repetition with this key and the same body changes nothing, ' +
          'and gets the first answer with the header `idempotency-replayed: true`.',
        schema: { type: 'string', minLength: 1, maxLength: 255 },
      },
    },
    responses: {
      Error: {
        description: 'The request was refused. `code` says why, and `message` what to do.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  },
})

interface Operation {
  readonly method: string
  /** With `{name}` for ids. */
  readonly path: string
  readonly value: Json
}

function pathsOf(operations: readonly Operation[]): Json {
  const paths: Record<string, Record<string, Json>> = {}
  for (const { method, path, value } of operations) {
    paths[path] = { ...paths[path], [method.toLowerCase()]: value }
  }
  return paths
}

const ERROR = { $ref: '#/components/responses/Error' }

/** The schema of input (before defaults are filled in) or output as JSON Schema, which OpenAPI 3.1 uses. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return json
}

/** `GET /accounts/{account}/wallet` as `getAccountsWallet`. */
const operationIdOf = (method: string, path: string): string =>
  method.toLowerCase() +
  path
    .replace(/[{][^}]*[}]/g, (name) => (path.endsWith(name) ? '/by-id' : ''))
    .replace(/[^a-zA-Z0-9]+(\w)/g, (_, letter: string) => letter.toUpperCase())

function parametersOf(path: string, query: z.ZodType | undefined, examples: Json = {}): Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    ...{ name, in: 'path', required: true, schema: { type: 'string' } },
  }))
  const { properties = {}, required = [] } = query === undefined ? {} : schemaOf(query, 'input')
  const inQuery = Object.entries(properties as Json).map(([name, schema]) => ({
    ...{ name, in: 'query', required: (required as string[]).includes(name), schema },
    ...(examples[name] !== undefined && { example: examples[name] }),
  }))
  return [...inPath, ...inQuery]
}

function adminOperations(): Operation[] {
  return (Object.entries(ADMIN_ROUTES) as [AdminRouteName, AnyAdminRoute][]).map(([name, route]) => {
    const [method = '', template = ''] = name.split(' ')
    const path = template.replace(/:(\w+)/g, '{$1}')
    const { scope, summary, query, body, answer, example, file } = route
    const properties = (schemaOf(body, 'input').properties ?? {}) as Json
    const content =
      file === undefined
        ? { 'application/json': { schema: schemaOf(answer, 'output') } }
        : { [file]: { schema: { type: 'string' } } }
    const value = {
      ...{ operationId: `admin${operationIdOf('', ` ${method.toLowerCase()}${path}`)}`, summary, tags: ['admin'] },
      description: scope === 'any' ? 'Needs any admin key.' : `Needs an admin key with the scope \`${scope}\`.`,
      'x-scope': scope,
      security: [{ adminKey: [] }],
      parameters: [
        ...parametersOf(path, query, example.query as Json | undefined),
        ...(method === 'GET' ? [] : [{ $ref: '#/components/parameters/IdempotencyKey' }]),
      ],
      ...(Object.keys(properties).length > 0 && {
        requestBody: {
          required: true,
          content: { 'application/json': { schema: schemaOf(body, 'input'), example: example.body } },
        },
      }),
      responses: { 200: { description: 'Done', content }, default: ERROR },
    }
    return { method, path: ADMIN_BASE + path, value }
  })
}

function v1Operations(): Operation[] {
  return Object.entries(V1_API).map(([name, route]) => {
    const [method = '', path = ''] = name.split(' ')
    const { summary, fields, required = [], query, answer, streams = false, example } = route
    const content = {
      'application/json': { schema: schemaOf(answer, 'output') },
      ...(streams && { 'text/event-stream': { schema: { type: 'string' } } }),
    }
    const value = {
      ...{ operationId: operationIdOf(method, path.replace('/v1', '')), summary, tags: ['v1'] },
      security: [{ apiKey: [] }],
      parameters: parametersOf(path, query),
      ...(fields !== undefined && {
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: fieldsSchema(FIELDS[fields], required),
              ...(example !== undefined && { example }),
            },
          },
        },
      }),
      responses: { 200: { description: 'Done', content }, default: ERROR },
    }
    return { method, path, value }
  })
}

const FIELDS: Readonly<Record<V1Fields, FieldTable>> = { chat: CHAT_FIELDS, responses: RESPONSES_FIELDS }

const POLICIES: Readonly<Record<FieldPolicy, string>> = {
  control: 'Millrace decides on it.',
  passed: 'Goes to the provider.',
  ignored: 'Accepted, and does not go to the provider.',
  priced: 'Beyond auto, default, standard or null only what the price of the model has.',
  'standard-only': 'Only auto, default, standard or null.',
  refused: 'Not provided: a value is refused.',
}

/** The fields of a request that have a policy. Others are accepted, and most providers do not get them. */
const fieldsSchema = (table: FieldTable, required: readonly string[]): Json => ({
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(table).map(([name, { policy, check }]) => [
      name,
      { ...(check && checkSchema(check, required.includes(name))), description: POLICIES[policy] },
    ]),
  ),
  required,
  additionalProperties: true,
})

/** Null counts as absent, so only a required field cannot be null. */
function checkSchema(check: ValueCheck, isRequired: boolean): Json {
  const orNull = (type: string) => ({ type: isRequired ? type : [type, 'null'] })
  switch (check.kind) {
    case 'number':
    case 'integer':
      return { ...orNull(check.kind), minimum: check.min, maximum: check.max }
    case 'boolean':
    case 'string':
    case 'object':
      return orNull(check.kind)
    case 'array':
      return { ...orNull('array'), items: {} }
    case 'string-or-object':
      return { type: ['string', 'object', 'null'] }
    case 'strings':
    case 'text-only':
      return { ...orNull('array'), items: { type: 'string' } }
    case 'string-or-strings':
      return { type: ['string', 'array', 'null'], items: { type: 'string' }, maxItems: check.most }
    case 'one-of':
      return { ...orNull('string'), enum: [...check.words, ...(isRequired ? [] : [null])] }
  }
}
