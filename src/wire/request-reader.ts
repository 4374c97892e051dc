import type { Refused } from '../model/problem.ts'
import type { RequestBody, TurnRequest } from '../model/turn.ts'

/** A body that was bounded and parsed at the door: the bytes with their members, and the object that they stand for. */
export interface ParsedBody extends RequestBody {
  readonly value: Readonly<Record<string, unknown>>
}

/** What a client's language makes of a body: a request, or what is wrong with it. */
export type ReadRequestOutcome<Request = TurnRequest> = { readonly kind: 'read'; readonly request: Request } | Refused
