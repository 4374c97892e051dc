import type { Problem } from '../model/problem.ts'
import type { RequestBody, TurnRequest } from '../model/turn.ts'

/** A body that was bounded and parsed at the door: the bytes with their members, and the object that they stand for. */
export interface ParsedBody extends RequestBody {
  readonly value: Readonly<Record<string, unknown>>
}

/** What a client's language makes of a body: a request, or the problem to send. */
export type ReadRequestOutcome<Request = TurnRequest> = { readonly kind: 'read'; readonly request: Request } | Malformed

export interface Malformed {
  readonly kind: 'malformed'
  readonly problem: Problem
}

export const malformed = (found: Problem): Malformed => ({ kind: 'malformed', problem: found })
