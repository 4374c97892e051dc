import type { Fields } from '../../lib/is-object.ts'
import type { AnswerFormat, Sampling } from '../../model/conversation.ts'
import type { ModelTraits } from '../../model/model-traits.ts'
import { unlessZero } from '../asked-settings.ts'
import { clientName } from '../client-names.ts'
import type { LaneTarget } from '../lane-target.ts'
import { PLEA_FOR_JSON } from '../made-up-words.ts'
import type { GeminiDialect } from './dialects.ts'

interface WrittenSampling {
  readonly fields: Fields
  readonly leftOut: readonly string[]
}

/** How words are chosen, without what this server or this model refuses. */
export function writeSampling(sampling: Sampling, { dialect, client }: LaneTarget<GeminiDialect>): WrittenSampling {
  const { temperature, topP, stop, seed, topLogprobs } = sampling
  const stops = stop.filter((word) => word !== '')
  const wanted: readonly Wish[] = [
    ['temperature', { temperature }],
    ['top_p', { topP }],
    ['presence_penalty', { presencePenalty: unlessZero(sampling.presencePenalty) }],
    ['frequency_penalty', { frequencyPenalty: unlessZero(sampling.frequencyPenalty) }],
    ['stop', { stopSequences: stops.length === 0 ? undefined : stops }],
    ['seed', { seed: seed === undefined ? undefined : seedOf(seed) }],
    ['logprobs', { responseLogprobs: topLogprobs === undefined ? undefined : true }],
    ['top_logprobs', { logprobs: topLogprobs === 0 ? undefined : topLogprobs }],
  ]
  const fields: Fields = {}
  const leftOut: string[] = []
  for (const [name, wish] of wanted) {
    if (Object.values(wish).every((value) => value === undefined)) continue
    if (isRefused(name, wish, dialect)) leftOut.push(name === 'logprobs' ? clientName(name, client) : name)
    else Object.assign(fields, wish)
  }
  return { fields, leftOut }
}

/** As clients call it, and what it is here. */
type Wish = readonly [name: string, fields: Fields]

/** By the client's name, as rows and traits have it, or by the server's own, as it has complained itself. */
const isRefused = (name: string, wish: Fields, { withoutFields }: GeminiDialect): boolean =>
  [name, ...Object.keys(wish)].some((refused) => withoutFields.includes(refused))

/** A seed has 32 bits here: a longer one loses the rest, the same way every time. */
const seedOf = (seed: number): number => Math.trunc(seed) | 0

/** Plain text is what a model answers in unasked; where a tool takes the answer, the tool has the schema. */
export function writeFormat(format: AnswerFormat | undefined, { jsonSchema }: ModelTraits): Fields {
  if (format === undefined || format.type === 'text' || jsonSchema === 'none') return {}
  const json = { responseMimeType: 'application/json' }
  if (format.type !== 'json_schema' || format.schema === undefined) return json
  return jsonSchema === 'tool' ? {} : { ...json, responseJsonSchema: format.schema }
}

/** What a model is told that has no way to be made to answer in JSON. */
export const pleaForJson = (format: AnswerFormat | undefined, { jsonSchema }: ModelTraits): readonly string[] =>
  format?.type === 'json_object' && jsonSchema === 'none' ? [PLEA_FOR_JSON] : []
