import type { AccountId, RequestId } from '../../model/ids.ts'
import type { ResponseStatus } from './response-rows.ts'

/** A response that runs. `object` is its JSON; its `output` may be empty, because the items are put in its place. */
export interface StartedResponse {
  readonly id: string
  readonly account: AccountId
  readonly requestId: RequestId
  readonly createdAt: number
  readonly expiresAt: number
  /** The id of the response that it goes on from. */
  readonly parent: string | undefined
  readonly object: Buffer
}

/** One that has ended, with the items that are its own: not those of the responses before it. */
export interface EndedResponse extends StartedResponse {
  readonly status: 'completed' | 'incomplete' | 'failed' | 'cancelled'
  readonly input: readonly Buffer[]
  readonly output: readonly Buffer[]
  /** What was sent of a streamed one. */
  readonly events?: Buffer
  /** Its log will be given to whoever repeats its request (`isLogAsSent`). */
  readonly isAsSent?: boolean
  /** What recovery has to know to charge for it, in the words of whoever charges; nothing where it shall not. */
  readonly facts: string | undefined
}

export interface FoundResponse {
  readonly status: ResponseStatus
  /** The JSON of the response, its output put in. */
  readonly body: Buffer
}

export type FoundContext =
  | { readonly kind: 'found'; readonly items: readonly Buffer[] }
  | { readonly kind: 'not-found' }
  /** It still runs, or has ended without an answer to go on from. */
  | { readonly kind: 'not-finished'; readonly status: ResponseStatus }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'damaged' }

export type FoundItems =
  | { readonly kind: 'found'; readonly items: ReadonlyMap<string, Buffer> }
  | { readonly kind: 'too-large' }

export type FoundEvents =
  /** Whole frames, in pieces; throws when they cannot be read to their end. */
  | { readonly kind: 'found'; readonly frames: AsyncIterable<Buffer> }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'not-finished' }
  | { readonly kind: 'no-log'; readonly reason: 'too-large' | 'not-kept' }

/** A stream as it was sent. */
export interface SentStream {
  readonly rawBytes: number
  /** Undefined where it cannot be read any more. */
  read(): Promise<Buffer | undefined>
}

/** What recovery has to know of a response that is stored. */
export interface StoredFacts {
  readonly facts: string
  /** Whoever repeats its request is given its stream again. */
  readonly isAsSent: boolean
}

/** A response of more items is not stored: looking for them all would hold the others up. */
export const RESPONSE_ITEMS_MAX = 5000

/** Responses that may be asked for, and gone on from, by their ids; each by its own account only. */
export interface StoredResponses {
  /** False where the operator lets nothing be stored. */
  readonly keeps: boolean
  /** The row of one that has only begun, in_progress; resolves true when it is durable. Never rejects. */
  begin(response: StartedResponse): Promise<boolean>
  /** The final state, with its items; of a JSON answer the first write too. Never rejects; false when it could not be kept. */
  finish(response: EndedResponse): Promise<boolean>
  /** One that began has ended without an answer. Never rejects. */
  end(id: string, account: AccountId, status: 'failed' | 'cancelled', object: Buffer): Promise<void>
  /** As if it had never been stored. Never rejects. */
  forget(id: string, account: AccountId): Promise<void>
  find(account: AccountId, id: string): Promise<FoundResponse | undefined>
  /** All items of the chain, in order; too-large when they are more than `bytesMax` together. */
  context(account: AccountId, id: string, bytesMax: number): Promise<FoundContext>
  /** Items of answers, by their ids; those that are not there are left out. */
  items(account: AccountId, ids: readonly string[], bytesMax: number): Promise<FoundItems>
  events(account: AccountId, id: string, startingAfter: number): Promise<FoundEvents>
  /** The stream of a response that was stored as it was sent, for whoever repeats its request. */
  sent(account: AccountId, requestId: RequestId): Promise<SentStream | undefined>
  /** At the wish of its account. What was built on it goes on. False when there was none to be seen. */
  remove(account: AccountId, id: string): Promise<boolean>
  /** At start: what a dead process left running has failed. Returns how many. */
  recover(): Promise<number>
  /** The facts of those of these requests whose responses are stored. Never rejects. */
  factsOf(requests: readonly RequestId[]): Promise<ReadonlyMap<RequestId, StoredFacts>>
  /** Ends what has expired, a few at a time. Returns how many. */
  sweep(): Promise<number>
  /** The account was closed: the key of everything of it is destroyed at once, and nothing is stored for it any more. */
  forgetAccount(account: AccountId): Promise<void>
}
