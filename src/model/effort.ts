import type { Brand } from '../lib/types.ts'

/** Reasoning effort. An open set: the catalogue lists what each model supports. */
export type Effort = Brand<string, 'effort'>

/** Compared in lower case: `minimal` and `low`, or `max` and `xhigh`, are different efforts. */
export const effortOf = (word: string): Effort => word.toLowerCase() as Effort

/** From least to most. Only these can be compared. */
const LADDER: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra']

/**
 * Spells an effort for a model. An unsupported effort becomes the nearest one below, so that the client does not pay for more
 * reasoning than requested; if there is none below, the least one. Undefined: no supported effort is comparable.
 */
export function spellEffort(spellings: EffortSpellings | undefined, effort: Effort): EffortSpelling | undefined {
  if (spellings === undefined) return effort
  const own = Object.hasOwn(spellings, effort) ? spellings[effort] : undefined
  if (own !== undefined) return own
  const wanted = LADDER.indexOf(effort)
  if (wanted === -1) return undefined
  const rungs = LADDER.map((rung) => (Object.hasOwn(spellings, rung) ? spellings[rung] : undefined))
  const below = rungs.slice(0, wanted).findLast((spelling) => spelling !== undefined)
  return below ?? rungs.slice(wanted).find((spelling) => spelling !== undefined)
}

/**
 * What differs between models of the same provider and protocol. It is data of the catalogue, and never derived from a
 * model's name.
 */
export interface ModelTraits {
  /** The spelling of each effort; undefined: as the client has written it. */
  readonly efforts: EffortSpellings | undefined
  /** Takes temperature, top_p, penalties and the like. */
  readonly sampling: boolean
  /** Supports a forced tool choice. */
  readonly forcedToolChoice: boolean
  /** How answers in a JSON schema work: natively, by a forced tool call, or not at all. */
  readonly jsonSchema: 'native' | 'tool' | 'none'
  /** Refuses its own tool call if it comes back without its signature. */
  readonly signedCalls: boolean
  /** Takes a system prompt; else instructions go into the first user message. */
  readonly systemPrompt: boolean
}

/** By effort: the provider's word, a number of reasoning tokens, or `disabled`. */
export type EffortSpellings = Readonly<Record<string, EffortSpelling>>
export type EffortSpelling = string | number

/** For models without traits in the catalogue: everything their protocol supports. */
export const PLAIN_TRAITS: ModelTraits = {
  efforts: undefined,
  sampling: true,
  forcedToolChoice: true,
  jsonSchema: 'native',
  signedCalls: false,
  systemPrompt: true,
}

/** What a lane caches of a prompt. With any value but `off`, marks of the client take precedence. */
export type PromptCache = 'off' | 'client' | 'system' | 'conversation'
