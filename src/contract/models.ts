import { z } from 'zod'
import { count, keyKind, moneyOrNull } from './values.ts'

const rates = z.strictObject({
  above_input_tokens: count,
  input: moneyOrNull,
  cached_input: moneyOrNull,
  cache_write: moneyOrNull,
  output: moneyOrNull,
})

export const modelItem = z.strictObject({
  id: z.string(),
  /** Ids with an effort suffix. */
  variants: z.array(z.string()),
  /** Null: any effort is passed on. Empty: the model has none. */
  efforts: z.array(z.string()).nullable(),
  inputs: z.array(z.string()),
  context_tokens: count,
  max_output_tokens: count,
  kinds: z.array(keyKind),
  /** USD per million tokens, the base price first; null: nobody may call it yet. */
  price: z.strictObject({ tiers: z.array(rates), per_request: moneyOrNull }).nullable(),
  /** Whether it would be answered now; never why, nor by whom: that is the operator's. */
  available: z.boolean(),
  demo: z.boolean(),
})

export const modelsAnswer = z.strictObject({ items: z.array(modelItem) })
