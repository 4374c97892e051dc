import type { ConversationItem, Sampling } from '../model/conversation.ts'

/** Of what a conversation may ask for, with the name that its client has for each: the names of what it does ask for. */
export const namesOfAsked = (settings: readonly (readonly [name: string, isAsked: boolean])[]): string[] =>
  settings.flatMap(([name, isAsked]) => (isAsked ? [name] : []))

/** Zero is no penalty: who knows none shall not seem to have lost one. */
export const unlessZero = (penalty: number | undefined): number | undefined => (penalty === 0 ? undefined : penalty)

export const hasBias = ({ logitBias }: Sampling): boolean =>
  logitBias !== undefined && Object.keys(logitBias).length > 0

/** It says by name who speaks. */
export const isNamed = (item: ConversationItem): boolean => item.type === 'message' && item.name !== undefined
