import type { Problem } from '../model/problem.ts'
import type { TurnRequest } from '../model/turn.ts'

/** What a client's language makes of a body: a turn, or the problem to send. */
export type ReadRequestOutcome =
  | { readonly kind: 'turn'; readonly turn: TurnRequest }
  | { readonly kind: 'malformed'; readonly problem: Problem }

export const malformed = (found: Problem): ReadRequestOutcome => ({ kind: 'malformed', problem: found })
