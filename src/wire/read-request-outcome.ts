import type { Problem } from '../model/problem.ts'
import type { TurnRequest } from '../model/turn.ts'

/** What a client's language makes of a body: a turn, or the problem to send. */
export type ReadRequestOutcome<Turn = TurnRequest> = { readonly kind: 'turn'; readonly turn: Turn } | Malformed

export interface Malformed {
  readonly kind: 'malformed'
  readonly problem: Problem
}

export const malformed = (found: Problem): Malformed => ({ kind: 'malformed', problem: found })
