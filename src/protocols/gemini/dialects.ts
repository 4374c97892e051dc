import { type ModelTraits, PLAIN_TRAITS } from '../../model/effort.ts'
import { type DialectTraits, dialectByName } from '../shared/lane-target.ts'

/**
 * The oddities of servers that speak generateContent, as data: an oddity is a column, a server is a row. What differs between
 * the models of one server is a trait of the lane.
 */
export interface GeminiDialect extends DialectTraits {
  readonly wire: 'gemini'
  /** Calls and their results may carry an id; elsewhere their order pairs them, and an id is an unknown field. */
  readonly callIds: boolean
  /** Knows a mode in which the model is free to call, and its arguments follow the schema when it does. */
  readonly validatedCalls: boolean
}

/**
 * A model of which nothing is known thinks by level, at the three that all have which think by level at all, and wants the
 * signatures of its calls back.
 */
const TRAITS: ModelTraits = {
  ...PLAIN_TRAITS,
  efforts: { low: 'low', medium: 'medium', high: 'high' },
  signedCalls: true,
}

const GENERIC: GeminiDialect = {
  wire: 'gemini',
  name: 'generic',
  aliases: [],
  withoutFields: [],
  // Thoughts are told as summaries: their words say little of what they have cost.
  hidesReasoning: true,
  // A candidate more would be another answer; how many of them may be asked for is another thing on every model.
  cannot: ['n'],
  callIds: false,
  validatedCalls: false,
  traits: TRAITS,
  source: 'What every version of the interface knows: Vertex AI refused ids of calls until September 2026.',
}

export const GEMINI_DIALECTS: readonly GeminiDialect[] = [
  GENERIC,
  {
    ...GENERIC,
    name: 'google',
    aliases: ['gemini'],
    callIds: true,
    validatedCalls: true,
    // 400 "Penalty is not enabled for models/…", "Logprobs is not enabled for models/…": of every model since 2.5.
    withoutFields: ['presence_penalty', 'frequency_penalty', 'logprobs', 'top_logprobs'],
    source: 'Gemini API reference, v1beta, and its own 400s about penalties and log probabilities.',
  },
  {
    ...GENERIC,
    name: 'google-vertex',
    source:
      'docs.cloud.google.com, Vertex AI generateContent: OAuth tokens, publisher paths. It refused ids of calls until September 2026.',
  },
]

export const geminiDialect = dialectByName(GEMINI_DIALECTS, GENERIC)
