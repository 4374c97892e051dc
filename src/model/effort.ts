import type { Brand } from '../lib/types.ts'

/** How hard a model shall think. An open set: a catalogue lists what its model knows. */
export type Effort = Brand<string, 'effort'>

/** Compared after lower-casing only: `minimal` and `low`, or `max` and `xhigh`, are different words and stay so. */
export const effortOf = (word: string): Effort => word.toLowerCase() as Effort

/** From not at all to as much as there is: only what stands here can be compared. */
const LADDER: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra']

/**
 * How a model is told of an effort. One that it does not know goes as the nearest below, so that nobody pays for more
 * thinking than was asked for; where there is none below, as the least. Undefined: there is nothing near.
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
 * How one model of a provider wants to be asked: what differs between models that speak the same protocol to the same
 * server. It is data of the catalogue; nothing of it is ever read out of a model's name.
 */
export interface ModelTraits {
  /** How each effort is said to it; undefined: as the client has written it. One that is not listed goes as its nearest. */
  readonly efforts: EffortSpellings | undefined
  /** Takes temperature, top_p, penalties and the like. */
  readonly sampling: boolean
  /** Can be made to call a tool. */
  readonly forcedToolChoice: boolean
  /** How it is made to answer in a schema: its server sees to it, a tool that it has to call does, or it cannot be. */
  readonly jsonSchema: 'native' | 'tool' | 'none'
  /** Refuses a call of its own that comes back without the signature that it came with. */
  readonly signedCalls: boolean
  /** Takes instructions in a place of their own; else they stand in the first message of the user. */
  readonly systemPrompt: boolean
}

/** By the effort: the provider's word for it, a number of tokens to think with, or `disabled`, which is not to think. */
export type EffortSpellings = Readonly<Record<string, EffortSpelling>>
export type EffortSpelling = string | number

/** What is assumed of a model of which nothing is known: that it can do what its protocol knows. */
export const PLAIN_TRAITS: ModelTraits = {
  efforts: undefined,
  sampling: true,
  forcedToolChoice: true,
  jsonSchema: 'native',
  signedCalls: false,
  systemPrompt: true,
}

/** What a lane with a prompt cache is asked to cache. With any but `off`, marks of the client take precedence. */
export type PromptCache = 'off' | 'client' | 'system' | 'conversation'
