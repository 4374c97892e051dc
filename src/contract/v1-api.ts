import { z } from 'zod'
import { count, keyKind, moneyOrNull, time, timeOrNull } from './values.ts'

/** Errors of `/v1` and `/admin/v1`. Some codes have more facts. */
export const errorEnvelope = z.looseObject({
  error: z.looseObject({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string(),
    source: z.enum(['gateway', 'upstream']),
    request_id: z.string(),
  }),
})

const model = z.looseObject({
  id: z.string(),
  object: z.literal('model'),
  created: count,
  owned_by: z.string(),
  context_length: count,
  max_output_tokens: count,
  input_modalities: z.array(z.string()),
})

const key = z.looseObject({
  object: z.literal('key'),
  id: z.string(),
  account: z.string(),
  name: z.string(),
  kind: keyKind,
  models: z.array(z.string()).nullable(),
  wallet: z
    .looseObject({ currency: z.literal('USD'), balance: z.string(), held: z.string(), available: z.string() })
    .nullable(),
  plan: z.looseObject({ id: z.string(), until: timeOrNull }).nullable(),
})

const keyInfo = z.strictObject({
  key: z.string(),
  info: z.looseObject({
    ...{ key_alias: z.string(), spend: z.number(), max_budget: z.number().nullable() },
    ...{ budget_duration: z.string().nullable(), budget_reset_at: timeOrNull },
  }),
})

const receipt = z.looseObject({
  object: z.literal('request'),
  id: z.string(),
  state: z.enum(['open', 'settled', 'released']),
  outcome: z.string().nullable(),
  model: z.string(),
  kind: keyKind,
  opened_at: time,
  closed_at: timeOrNull,
  tags: z.record(z.string(), z.string()).nullable(),
  cost: moneyOrNull,
  charge: moneyOrNull,
})

const runFields = z.looseObject({
  id: z.string(),
  state: z.enum(['open', 'ended']),
  opened_at: time,
  ends_at: time,
  budget: z.looseObject({ cost: moneyOrNull, requests: count.nullable(), tokens: count.nullable() }),
  used: z.looseObject({ cost: z.string(), requests: count, tokens: count }),
  runs: z.array(z.looseObject({ id: z.string() })),
})

const run = runFields.extend({
  object: z.literal('run'),
  /** False: the tree has more runs than `runs` lists; `used` counts all. */
  all_listed: z.boolean(),
  parent: z.string().nullable(),
  remaining: z.looseObject({ cost: moneyOrNull, requests: z.number().nullable(), tokens: z.number().nullable() }),
})

const chatCompletion = z.looseObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: count,
  model: z.string(),
  choices: z.array(z.looseObject({ index: count, message: z.looseObject({ role: z.string() }) })),
})

const response = z.looseObject({
  id: z.string(),
  object: z.literal('response'),
  status: z.string(),
  model: z.string(),
  output: z.array(z.looseObject({ type: z.string() })),
})

const compacted = z.looseObject({ object: z.literal('response.compaction'), output: z.array(z.looseObject({})) })

/** A table of the fields of a request: the protocols have them. */
export type V1Fields = 'chat' | 'responses'

interface V1Route {
  readonly summary: string
  readonly fields?: V1Fields
  /** The fields that a request must have. */
  readonly required?: readonly string[]
  readonly query?: z.ZodType
  readonly answer: z.ZodType
  /** The answer may be server-sent events. */
  readonly streams?: boolean
  /** A test sends it to a server. */
  readonly example?: Readonly<Record<string, unknown>>
}

const MESSAGES = [{ role: 'user', content: 'Say hello.' }]

/** The endpoints of `/v1` for `openapi.json`: `server/routes.ts` serves them, and a test compares the two. */
export const V1_API: Readonly<Record<string, V1Route>> = {
  'GET /v1/models': {
    summary: 'List the models that the key may call now',
    query: z.strictObject({ client_version: z.string().optional() }),
    answer: z.looseObject({ object: z.literal('list'), data: z.array(model) }),
  },
  'GET /v1/models/{id}': { summary: 'Describe a model', answer: model },
  'POST /v1/chat/completions': {
    summary: 'Create a chat completion',
    ...{ fields: 'chat', required: ['model', 'messages'], answer: chatCompletion, streams: true },
    example: { model: 'demo', messages: MESSAGES, max_tokens: 50 },
  },
  'POST /v1/responses': {
    summary: 'Create a response',
    ...{ fields: 'responses', required: ['model'], answer: response, streams: true },
    example: { model: 'demo', input: 'Say hello.', max_output_tokens: 50 },
  },
  'POST /v1/responses/compact': {
    summary: 'Compact a conversation, for the input of the next request',
    ...{ fields: 'responses', required: ['model'], answer: compacted },
  },
  'GET /v1/responses/{id}': {
    summary: 'Get a stored response, as JSON or as the events of its stream, also while it runs',
    query: z.strictObject({ stream: z.enum(['true', 'false']).optional(), starting_after: z.string().optional() }),
    ...{ answer: response, streams: true },
  },
  'POST /v1/responses/{id}/cancel': {
    summary: 'Cancel a response that runs in the background',
    answer: response,
  },
  'DELETE /v1/responses/{id}': {
    summary: 'Delete a stored response',
    answer: z.strictObject({ id: z.string(), object: z.literal('response.deleted'), deleted: z.literal(true) }),
  },
  'GET /v1/key': { summary: 'Describe the key that asks, its limits, and what is left of its allowances', answer: key },
  'GET /v1/credits': {
    summary: 'Get what the account has been credited and has used, in the shape of OpenRouter',
    answer: z.strictObject({ data: z.strictObject({ total_credits: z.number(), total_usage: z.number() }) }),
  },
  'GET /v1/key/info': { summary: 'Describe the key that asks, in the shape of LiteLLM', answer: keyInfo },
  'GET /v1/runs/{id}': {
    summary: 'Get what a run has used, what is left of its budget, and the runs inside it',
    answer: run,
  },
  'GET /v1/requests/{id}': { summary: 'Get the receipt of a request of this account', answer: receipt },
}
