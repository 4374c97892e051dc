import { z } from 'zod'
import { SEARCH_WORDS_MAX, wordsOfSearch } from '../lib/anywhere/words-of-search.ts'
import { amount, count, keyKind, line, moment, money, note, pageQuery, time, timeOrNull } from './values.ts'

const keyState = z.enum(['active', 'disabled', 'expired', 'revoked'])

const cap = amount.nullable().optional()

/** What it may spend in a day or a month of UTC. What is absent stays as it is; null takes a cap away. */
export const keyCaps = z.strictObject({ day: cap, month: cap })
const rate = z.int().positive().max(1_000_000_000_000).nullable().optional()
const keyLimits = z.strictObject({ requests_per_minute: rate, tokens_per_minute: rate, concurrent: rate })

/** How much of what a key may spend is gone. */
const capStanding = z.strictObject({
  /** `day` or `month`. */
  name: z.string(),
  limit: money,
  used: money,
  held: money,
  left: money,
  start: time,
  end: time,
})

export const keyItem = z.strictObject({
  id: z.string(),
  name: z.string(),
  kind: keyKind,
  /** Its beginning and its end: all that is left of it. */
  shown: z.string(),
  state: keyState,
  /** Belongs to the console's playground: no program can use it. */
  playground: z.boolean(),
  /** Ids and globs; null admits every model of its kind. */
  models: z.array(z.string()).nullable(),
  limits: z.strictObject({
    requests_per_minute: count.nullable(),
    tokens_per_minute: count.nullable(),
    concurrent: count.nullable(),
  }),
  caps: z.array(capStanding),
  created_at: time,
  last_used_at: timeOrNull,
  expires_at: timeOrNull,
  /** While a rotation lasts: the former secret still works until then. */
  former: z.strictObject({ shown: z.string(), until: time }).nullable(),
})

/** In a list: of its models how many there are and the first of them, so that no page of keys grows without an end. */
export const listedKey = keyItem.extend({
  models: z.strictObject({ count, first: z.array(z.string()) }).nullable(),
})

/** All that a key is about, but for its secret. What is absent stays as it is; null takes it away. */
const keyTerms = z.strictObject({
  name: line(100),
  /** Ids and globs; null: every model of its kind. */
  models: z.array(line(200)).min(1).max(500).nullable().optional(),
  caps: keyCaps.optional(),
  limits: keyLimits.optional(),
  /** Null: never. */
  expires: moment.nullable().optional(),
})
/** As they are told when some of them change. */
export type KeyTerms = Omit<z.output<typeof changeKeyBody>, 'disabled'>

/** `search`: every word of it is in what a key is called or shown by, or in one of its models, whatever its case. */
export const keysQuery = z.strictObject({
  ...pageQuery.shape,
  search: note(200)
    .refine(
      (text) => wordsOfSearch(text).length <= SEARCH_WORDS_MAX,
      `has more than ${SEARCH_WORDS_MAX} different words`,
    )
    .optional(),
})

export const createKeyBody = keyTerms.extend({ kind: keyKind })
export const changeKeyBody = keyTerms.partial({ name: true }).extend({ disabled: z.boolean().optional() })
export const renameKeyBody = keyTerms.pick({ name: true })

/** How long the former secret goes on working: `0`, or a span such as `1h`, `24h`, `7d`. */
export const rotateKeyBody = z.strictObject({ grace: z.string().max(10) })

/** The secret is told this once and stored nowhere. */
export const madeKey = z.strictObject({ key: keyItem, secret: z.string() })
