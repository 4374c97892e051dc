import type { Answer } from './answer.ts'

/** What a client was told: an answer, or under which code it failed. */
export type Delivered = { readonly answer: Answer } | { readonly failed: string }

/** No client could make sense of it. */
export class Invalid extends Error {}

export function insist(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Invalid(message)
}
