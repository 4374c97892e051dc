import { z } from 'zod'
import type { EffortSpelling } from '../model/effort.ts'
import { CHAT_FIELDS } from '../protocols/chat/fields.ts'
import { mayBePassedOn } from '../protocols/fields/field-rule.ts'
import { RESPONSES_FIELDS } from '../protocols/responses/fields.ts'
import {
  decimal,
  factor,
  flag,
  integer,
  list,
  maybeText,
  price,
  read,
  scalar,
  section,
  text,
  usd,
  word,
  wrong,
} from './scalars.ts'
import { identifier } from './upstream-schema.ts'

/** What a model id may look like: `vendor/model:tag` and the like, but nothing that a glob or a list would read otherwise. */
const MODEL_ID = {
  pattern: /^[^\s*?,\p{C}]+$/u,
  expected: 'a name without spaces, commas, * and ?',
  charactersMax: 200,
}

export const modelGlob = text('A model id, or a pattern in which * stands for anything. Patterns match base ids.', {
  pattern: /^[^\s?,\p{C}]+$/u,
  expected: 'a model id or a pattern such as fast-*',
  charactersMax: 200,
})

/** A number as large as any context or answer will be for a while. */
const TOKENS = { min: 1, max: 100_000_000 }

const rates = {
  input: price('Input'),
  cached_input: price('Input that the provider read from its cache; left out: as input').optional(),
  cache_write: price('Input that the provider wrote to its cache; left out: as input').optional(),
  output: price('Output, reasoning included'),
}

const tierSchema = section('Prices of a request whose whole input is longer than a threshold.', {
  above_input_tokens: integer('The threshold.', TOKENS),
  ...rates,
}).superRefine(refuseDearCache)

const priceSchema = section('What the model costs. A model without a price cannot be called; free is written "0".', {
  ...rates,
  per_request: usd('Fixed part of every request', '1000').prefault('0'),
  tiers: list('Prices of long requests.', tierSchema),
  multipliers: z
    .record(z.string(), z.record(z.string(), factor('What the price is multiplied by.')))
    .meta({ description: 'Which values of which fields change the price, e.g. service_tier: { priority: "2.0" }.' })
    .prefault({}),
})
  .superRefine(refuseDearCache)
  .superRefine(({ tiers }, context) => {
    const seen = new Set<number>()
    for (const [index, tier] of tiers.entries()) {
      if (seen.has(tier.above_input_tokens)) {
        const params = { cure: 'Keep one tier for each threshold.', whole: true }
        const path = ['tiers', index, 'above_input_tokens']
        context.addIssue({ code: 'custom', path, message: 'two tiers begin at the same threshold', params })
      }
      seen.add(tier.above_input_tokens)
    }
  })

interface CacheRates {
  readonly input: bigint
  readonly cached_input?: bigint | undefined
}

function refuseDearCache({ input, cached_input }: CacheRates, context: z.RefinementCtx): void {
  if (cached_input === undefined || cached_input <= input) return
  const params = {
    cure: 'Is it swapped with cache_write, or in another unit? The unit is USD per million tokens.',
    whole: true,
  }
  const message = 'cached input costs more than input'
  context.addIssue({ code: 'custom', path: ['cached_input'], message, params })
}

const spellingSchema = scalar<EffortSpelling>(
  'The provider’s word, a number of tokens to think with, or disabled.',
  { type: ['string', 'integer'] },
  (value) => {
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 10_000_000) return read(value)
    return typeof value === 'string' && /^[A-Za-z0-9_]{1,32}$/.test(value)
      ? read(value)
      : wrong('a word such as low, a number of tokens such as 8000, or disabled')
  },
)

const traitsSchema = section(
  'How this provider’s model wants to be asked. Left out: as the list of known models says, else as its dialect assumes.',
  {
    efforts: z
      .record(z.string().regex(/^[a-z0-9_]{1,32}$/), spellingSchema)
      .meta({ description: 'How each effort is said to it; one that is missing goes as the nearest below.' })
      .optional(),
    sampling: flag('Takes temperature, top_p, penalties and the like.').optional(),
    forced_tool_choice: flag('Can be made to call a tool.').optional(),
    json_schema: word(
      'How it is made to answer in a schema: its server sees to it, a tool does that it has to call, or nothing can.',
      ['native', 'tool', 'none'],
    ).optional(),
    signed_calls: flag('Refuses its own tool calls without their signatures.').optional(),
    system_prompt: flag('Takes instructions in a place of their own.').optional(),
  },
).prefault({})

const laneSchema = section('One way to run the model.', {
  upstream: identifier('The id of an upstream.'),
  model: text('How that upstream calls the model.', {
    pattern: /^[^\s\p{C}]+$/u,
    expected: 'a name',
    charactersMax: 200,
  }),
  priority: integer('Lower is tried first.', { min: 0, max: 1000 }).prefault(1),
  weight: integer('Share among lanes of one priority.', { min: 1, max: 1_000_000 }).prefault(1),
  traits: traitsSchema,
  prompt_cache: word(
    'What the provider is asked to keep of a prompt, on the wire anthropic; other providers see to it themselves. ' +
      'Left out: conversation where the price names cache_write, else client: only what clients mark themselves.',
    ['off', 'client', 'system', 'conversation'],
  ).optional(),
})

const effortSchema = scalar('A word for how hard the model thinks.', { type: 'string' }, (value) =>
  typeof value === 'string' && /^[A-Za-z0-9_]{1,32}$/.test(value)
    ? read(value.toLowerCase())
    : wrong('a word such as none, minimal, low, medium, high, xhigh or max'),
)

export const modelSchema = section('A model as clients see it.', {
  id: text('What clients write.', MODEL_ID),
  owned_by: text('Shown in the model list.', { charactersMax: 100 }).prefault('millrace'),
  description: maybeText('Shown in the model list.').prefault(null),
  created: scalar(
    'Day that the model list shows as its creation.',
    { type: 'string', format: 'date' },
    readDay,
  ).prefault('2026-11-20'),
  efforts: z
    .array(effortSchema)
    .meta({
      description:
        'Each also lists the model as id-effort. Left out: any effort is passed on. []: any effort is refused.',
    })
    .optional(),
  inputs: list('Parts of a message that the model reads.', word('Kind of part.', ['text', 'image', 'file'])).prefault([
    'text',
  ]),
  input_tokens_max: z
    .strictObject({
      image: integer('Of one image.', TOKENS).optional(),
      file: integer('Of one file.', TOKENS).optional(),
    })
    .meta({ description: 'The most tokens that one part can count for; needed for every input but text.' })
    .prefault({}),
  context_tokens: integer('The longest input and output together.', TOKENS),
  max_output_tokens: integer('The longest output.', TOKENS),
  bytes_per_token: decimal('For estimates where a provider reports no usage.', { min: 0.1, max: 100 }).prefault(4),
  choices_max: integer('The most answers that one request may ask for with n.', { min: 1, max: 128 }).prefault(1),
  price: priceSchema.optional(),
  kinds: list('Kinds of keys that may call it.', word('Kind of key.', ['wallet', 'builder'])).prefault([
    'wallet',
    'builder',
  ]),
  pass_fields: list(
    'Top-level fields of a request that are passed on although Millrace does not know them.',
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
    refuse(['pass_fields', at], `the field ${field} is Millrace’s own to decide on`, 'Leave it out of the list.')
  }
  for (const input of model.inputs) {
    if (input === 'text' || model.input_tokens_max[input] !== undefined) continue
    refuse(
      ['inputs'],
      `the input ${input} has no bound`,
      `Add input_tokens_max: { ${input}: … } so that a hold covers it.`,
    )
  }
  for (const [key, values] of [
    ['efforts', model.efforts ?? []],
    ['inputs', model.inputs],
    ['kinds', model.kinds],
  ] as const) {
    const index = (values as readonly string[]).findIndex(
      (value, at) => (values as readonly string[]).indexOf(value) !== at,
    )
    if (index >= 0) refuse([key, index], `${values[index]} is listed twice`, 'Keep one of the two.')
  }
})

function readDay(value: unknown) {
  const ms =
    typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) ? Date.parse(`${value}T00:00:00Z`) : Number.NaN
  return Number.isNaN(ms) ? wrong('a day such as 2026-11-20') : read(ms / 1000)
}
