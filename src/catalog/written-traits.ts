import type { EffortSpellings, ModelTraits } from '../model/model-traits.ts'

/** Traits as the configuration and the snapshot spell them. */
export interface WrittenTraits {
  readonly efforts?: EffortSpellings | undefined
  readonly sampling?: boolean | undefined
  readonly forced_tool_choice?: boolean | undefined
  readonly json_schema?: ModelTraits['jsonSchema'] | undefined
  readonly signed_calls?: boolean | undefined
  readonly system_prompt?: boolean | undefined
}

/** Their names there and here. */
export const TRAIT_NAMES = [
  ['efforts', 'efforts'],
  ['sampling', 'sampling'],
  ['forced_tool_choice', 'forcedToolChoice'],
  ['json_schema', 'jsonSchema'],
  ['signed_calls', 'signedCalls'],
  ['system_prompt', 'systemPrompt'],
] as const satisfies readonly (readonly [keyof WrittenTraits, keyof ModelTraits])[]

/** What is not written is left out, so that it does not stand over what others know. */
export function readTraits(written: WrittenTraits): Partial<ModelTraits> {
  const known = TRAIT_NAMES.filter(([name]) => written[name] !== undefined)
  return Object.fromEntries(known.map(([name, own]) => [own, written[name]]))
}
