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
  /** Has a mode in which the model is free to call, and the arguments of its calls follow the schema. */
  readonly validatedCalls: boolean
}

/** An unknown model takes a thinking level (the three that all models with levels have) and wants the signatures of its calls back. */
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
  // Thoughts are sent as summaries, whose length shows little of their cost.
  hidesReasoning: true,
  // How many candidates may be requested differs by model.
  cannot: ['n'],
  pricedValues: {},
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
    pricedValues: { service_tier: 'any' },
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
