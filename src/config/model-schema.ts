import { z } from 'zod'
import type { EffortSpelling } from '../model/effort.ts'
import { BASE_VALUES, PRICED_VALUE } from '../model/price.ts'
import { CHAT_FIELDS } from '../protocols/chat/parse-request.ts'
import { mayBePassedOn } from '../protocols/fields/read-fields.ts'
import { RESPONSES_FIELDS } from '../protocols/responses/fields.ts'
import {
  choice,
  decimal,
  factor,
  flag,
  integer,
  list,
  optionalText,
  price,
  read,
  scalar,
  section,
  text,
  usd,
  wrong,
} from './scalars.ts'
import { identifier } from './upstream-schema.ts'

export const modelGlob = text('A model id, or a pattern in which * matches anything. Patterns match base ids.', {
  pattern: /^[^\s?,\p{C}]+$/u,
  expected: 'a model id or a pattern such as fast-*',
  charactersMax: 200,
})

const TOKENS = [1, 100_000_000] as const

const tokenPrices = {
  input: price('Input'),
  cached_input: price('Input that the provider read from its cache; left out: as input').optional(),
  cache_write: price('Input that the provider wrote to its cache; left out: as input').optional(),
  output: price('Output, reasoning included'),
}

const tierSchema = section('Prices of requests whose whole input exceeds a threshold.', {
  above_input_tokens: integer('The threshold.', TOKENS),
  ...tokenPrices,
}).superRefine(checkCacheWritePrice)

const factors = (description: string) =>
  z.record(z.string(), factor('Factor for the prices of tokens.')).meta({ description }).optional()

const pricesSchema = {
  ...tokenPrices,
  per_request: usd('Fixed price per request', '1000').prefault('0'),
  tiers: list('Prices of long requests.', tierSchema),
  multipliers: section('Values of request fields that change the prices of tokens.', {
    service_tier: factors('By service tier, such as { flex: "0.5", priority: "2" }.'),
    speed: factors('By speed, such as { fast: "6" } of Anthropic.'),
    inference_geo: factors('By the region where the model runs, such as { us: "1.1" } of Anthropic.'),
  }).prefault({}),
}

const priceSchema = section(
  'What the model costs. A model without a price cannot be called; free is written "0".',
  pricesSchema,
)
  .superRefine(checkCacheWritePrice)
  .superRefine(checkTiers)
  .superRefine(checkMultipliers)

function checkMultipliers(
  { multipliers }: { readonly multipliers: Readonly<Partial<Record<string, Readonly<Record<string, bigint>>>>> },
  context: z.RefinementCtx,
): void {
  for (const [field, factors = {}] of Object.entries(multipliers))
    for (const value of Object.keys(factors)) {
      const path = ['multipliers', field, value]
      const refuse = (message: string, cure: string) =>
        context.addIssue({ code: 'custom', path, message, params: { cure, whole: true } })
      if (BASE_VALUES.has(value)) refuse(`${value} is the base price`, 'Remove it.')
      else if (!PRICED_VALUE.test(value))
        refuse('this is no value of the field', 'Use small letters, digits, dots, - and _, up to 40 of them.')
    }
}

function checkTiers(
  { tiers }: { readonly tiers: readonly { readonly above_input_tokens: number }[] },
  context: z.RefinementCtx,
): void {
  const seen = new Set<number>()
  for (const [index, tier] of tiers.entries()) {
    if (seen.has(tier.above_input_tokens)) {
      const params = { cure: 'Keep one tier for each threshold.', whole: true }
      const path = ['tiers', index, 'above_input_tokens']
      context.addIssue({ code: 'custom', path, message: 'two tiers have the same threshold', params })
    }
    seen.add(tier.above_input_tokens)
  }
}

function checkCacheWritePrice(
  { input, cached_input }: { readonly input: bigint; readonly cached_input?: bigint | undefined },
  context: z.RefinementCtx,
): void {
  if (cached_input === undefined || cached_input <= input) return
  const params = {
    cure: 'Is it swapped with cache_write, or in another unit? The unit is USD per million tokens.',
    whole: true,
  }
  context.addIssue({ code: 'custom', path: ['cached_input'], message: 'cached input costs more than input', params })
}

const EFFORT = /^[A-Za-z0-9_]{1,32}$/

const spellingSchema = scalar<EffortSpelling>(
  'The provider’s value for the effort, a number of thinking tokens, or disabled.',
  { type: ['string', 'integer'] },
  (value) => {
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 10_000_000) return read(value)
    return typeof value === 'string' && EFFORT.test(value)
      ? read(value)
      : wrong('a word such as low, a number of tokens such as 8000, or disabled')
  },
)

const traitsSchema = section(
  'What this provider’s model supports. Left out: what the list of known models says, else the assumption of its dialect.',
  {
    efforts: z
      .record(z.string().regex(/^[a-z0-9_]{1,32}$/), spellingSchema)
      .meta({ description: 'How each effort is sent to the model; one that is missing is sent as the next lower one.' })
      .optional(),
    sampling: flag('Accepts temperature, top_p, penalties and the like.').optional(),
    forced_tool_choice: flag('Can be forced to call a tool.').optional(),
    json_schema: choice(
      'How structured output is enforced: by the provider, by a tool that the model must call, or not at all.',
      ['native', 'tool', 'none'],
    ).optional(),
    signed_calls: flag('Rejects its own tool calls without their signatures.').optional(),
    system_prompt: flag('Has a separate field for instructions.').optional(),
  },
).prefault({})

/** No account is charged by it: the metrics count it beside the charges. */
const costSchema = section(
  'What this provider charges you, for the metrics of cost and margin; clients pay the price of the model.',
  pricesSchema,
)
  .superRefine(checkCacheWritePrice)
  .superRefine(checkTiers)
  .superRefine(checkMultipliers)

const laneSchema = section('One way to run the model.', {
  upstream: identifier('The id of an upstream.'),
  model: text('The model name at that upstream.', {
    pattern: /^[^\s\p{C}]+$/u,
    expected: 'a name',
    charactersMax: 200,
  }),
  priority: integer('Lower is tried first.', [0, 1000]).prefault(1),
  weight: integer('Share among lanes of one priority.', [1, 1_000_000]).prefault(1),
  traits: traitsSchema,
  prompt_cache: choice(
    'What the provider is asked to cache of a prompt, on the wire anthropic; other providers decide themselves. ' +
      'Left out: conversation if the price has cache_write, else client: only what clients mark themselves.',
    ['off', 'client', 'system', 'conversation'],
  ).optional(),
  cost: costSchema.optional(),
})

const effortSchema = scalar('How hard the model thinks.', { type: 'string' }, (value) =>
  typeof value === 'string' && EFFORT.test(value)
    ? read(value.toLowerCase())
    : wrong('a word such as none, minimal, low, medium, high, xhigh or max'),
)

export const modelSchema = section('A model as clients see it.', {
  id: text('The id that clients send.', {
    // `vendor/model:tag` and the like, without the characters that globs and lists use.
    pattern: /^[^\s*?,\p{C}]+$/u,
    expected: 'a name without spaces, commas, * and ?',
    charactersMax: 200,
  }),
  owned_by: text('Shown in the model list.', { charactersMax: 100 }).prefault('millrace'),
  description: optionalText('Shown in the model list.').prefault(null),
  created: scalar('Creation date in the model list.', { type: 'string', format: 'date' }, readDay).prefault(
    '2026-11-20',
  ),
  efforts: z
    .array(effortSchema)
    .meta({
      description:
        'Each also lists the model as id-effort. Left out: any effort is passed on. []: any effort is refused.',
    })
    .optional(),
  inputs: list('Input types that the model accepts.', choice('Input type.', ['text', 'image', 'file'])).prefault([
    'text',
  ]),
  input_tokens_max: z
    .strictObject({
      image: integer('Per image.', TOKENS).optional(),
      file: integer('Per file.', TOKENS).optional(),
    })
    .meta({ description: 'The most tokens that one part can count for; required for every input but text.' })
    .prefault({}),
  context_tokens: integer('The context window: the longest input and output together.', TOKENS),
  max_output_tokens: integer('The longest output.', TOKENS),
  bytes_per_token: decimal('For estimates when a provider reports no usage.', [0.1, 100]).prefault(4),
  choices_max: integer('The largest n that a request may ask for.', [1, 128]).prefault(1),
  step_down: section(
    'The cheaper model that is used, and announced, where the money that is left does not cover a request.',
    {
      to: text('The id of a model, or of one with its effort, such as fast-coder-low.', { charactersMax: 250 }),
      below_percent: integer(
        'Also used where less than this share of a cap, a run or a window is left.',
        [0, 100],
      ).prefault(0),
    },
  ).optional(),
  on_broken_tool_arguments: choice(
    'What happens when the arguments of a tool call are not JSON. fail: the answer fails, or comes from another lane. ' +
      'retry: the same lane is asked once more, if nothing was sent to the client; a stream that begins with a call is held back for that.',
    ['fail', 'retry'],
  ).prefault('fail'),
  price: priceSchema.optional(),
  kinds: list('Key kinds that may call it.', choice('Key kind.', ['wallet', 'builder'])).prefault([
    'wallet',
    'builder',
  ]),
  pass_fields: list(
    'Top-level request fields that are passed on although Millrace does not know them.',
    text('Name of a field.', { charactersMax: 100 }),
  ),
  lanes: z.array(laneSchema).min(1, 'at least one lane').meta({ description: 'Ways to run the model.' }),
}).superRefine((model, context) => {
  const refuse = (path: (string | number)[], message: string, cure: string) =>
    context.addIssue({ code: 'custom', path, message, params: { cure, whole: true } })
  if (model.max_output_tokens > model.context_tokens) {
    refuse(['max_output_tokens'], 'the longest output is longer than the context', 'Lower it, or raise context_tokens.')
  }
  for (const [at, field] of model.pass_fields.entries()) {
    if (mayBePassedOn([CHAT_FIELDS, RESPONSES_FIELDS], field)) continue
    refuse(['pass_fields', at], `Millrace handles the field ${field} itself`, 'Remove it from the list.')
  }
  for (const input of model.inputs) {
    if (input === 'text' || model.input_tokens_max[input] !== undefined) continue
    const cure = `Add input_tokens_max: { ${input}: … }: the hold needs it.`
    refuse(['inputs'], `the input ${input} has no token limit`, cure)
  }
  for (const key of ['efforts', 'inputs', 'kinds'] as const) {
    const values: readonly string[] = model[key] ?? []
    const index = values.findIndex((value, at) => values.indexOf(value) !== at)
    if (index >= 0) refuse([key, index], `${values[index]} is listed twice`, 'Remove one of the two.')
  }
})

const IMPORT = /^[a-z][a-z0-9-]*\/[^\s?,\p{C}]+$/u

export const importSchema = section('Models of the built-in catalogue that clients can call.', {
  from: text('Known models: a dialect, a slash, and a name or a pattern, such as openai/* or anthropic/claude-*-5.', {
    pattern: IMPORT,
    expected: 'a dialect, a slash, and a model or a pattern, such as openai/*',
    charactersMax: 200,
  }),
  upstream: identifier('The id of the upstream that serves them.'),
  markup: factor('What the pinned price of the provider is multiplied by; the product is rounded up.').prefault('1'),
  except: list('Models that are left out: names or patterns, without the dialect.', modelGlob),
  max_output_tokens: integer(
    'The longest output of models whose limit the catalogue does not know. Without it they are not imported.',
    TOKENS,
  ).optional(),
  prefix: text('Put in front of the ids that clients send, such as acme/.', {
    pattern: /^[^\s*?,\p{C}]+$/u,
    expected: 'a name without spaces, commas, * and ?',
    charactersMax: 100,
  }).optional(),
  owned_by: text('Shown in the model list.', { charactersMax: 100 }).optional(),
  kinds: list('Key kinds that may call them.', choice('Key kind.', ['wallet', 'builder'])).prefault([
    'wallet',
    'builder',
  ]),
  input_tokens_max: z
    .strictObject({
      image: integer('Per image.', TOKENS).optional(),
      file: integer('Per file.', TOKENS).optional(),
    })
    .meta({ description: 'The most tokens that one part can count for. An input that is named here is accepted.' })
    .prefault({}),
})

function readDay(value: unknown) {
  const ms =
    typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) ? Date.parse(`${value}T00:00:00Z`) : Number.NaN
  return Number.isNaN(ms) ? wrong('a day such as 2026-11-20') : read(ms / 1000)
}
