import { type EffortSpellings, type ModelTraits, PLAIN_TRAITS } from '../../model/effort.ts'
import { type DialectTraits, dialectByName } from '../shared/lane-target.ts'

/** The oddities of servers that speak Anthropic Messages, as data: an oddity is a column, a server is a row. */
export interface AnthropicDialect extends DialectTraits {
  readonly wire: 'anthropic'
  /** System messages may stand among the others; elsewhere their text goes into the next user message. */
  readonly midSystem: boolean
  /** A last assistant message is the beginning of the answer; where it is refused, a user message behind it asks the model to go on. */
  readonly prefill: boolean
  /** `thinking.display` decides how thinking is shown. */
  readonly thinkingDisplay: boolean
  /** Tools may be `strict`. */
  readonly strictTools: boolean
}

/** For a model that decides by itself how long it thinks. */
const EFFORT_WORDS: EffortSpellings = {
  none: 'disabled',
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
  ultra: 'max',
}

/** For a model that needs a thinking budget. */
const EFFORT_BUDGETS: EffortSpellings = { none: 'disabled', low: 4_000, medium: 12_000, high: 24_000 }

const UNKNOWN_CLAUDE: ModelTraits = { ...PLAIN_TRAITS, efforts: EFFORT_WORDS, sampling: false }

const ANTHROPIC: AnthropicDialect = {
  wire: 'anthropic',
  name: 'anthropic',
  aliases: [],
  withoutFields: [],
  hidesReasoning: true,
  cannot: ['n'],
  // Its `auto` uses capacity that was bought, if there is some, and its usage says whether it has.
  pricedValues: { service_tier: { priority: 'auto' }, speed: 'any', inference_geo: 'any' },
  keepsOnDemand: true,
  midSystem: false,
  prefill: false,
  thinkingDisplay: true,
  strictTools: true,
  traits: UNKNOWN_CLAUDE,
  versions: [{ from: '2026-10-21', traits: { sampling: false } }],
  source:
    'API reference and types of the SDK: of a model that nothing else is known of, what the newest ones have in common: ' +
    'adaptive thinking, no sampling, no prefill; thinking is told in a summary.',
}

const GENERIC: AnthropicDialect = {
  ...ANTHROPIC,
  name: 'generic',
  pricedValues: {},
  hidesReasoning: false,
  prefill: true,
  thinkingDisplay: false,
  strictTools: false,
  traits: { ...PLAIN_TRAITS, efforts: EFFORT_BUDGETS, jsonSchema: 'tool' },
  source: 'Servers of others follow the older interface: thinking by budgets, sampling, no schemas of their own.',
}

export const ANTHROPIC_DIALECTS: readonly AnthropicDialect[] = [ANTHROPIC, GENERIC]

export const anthropicDialect = dialectByName(ANTHROPIC_DIALECTS, GENERIC)
