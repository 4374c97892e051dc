import type { AccountId, RequestId } from '../../model/ids.ts'
import type { ResponseStatus } from './response-rows.ts'

/** A running response. `object` is its JSON; its `output` may be empty, because readers put the items in. */
export interface StartedResponse {
  readonly id: string
  readonly account: AccountId
  readonly requestId: RequestId
  readonly createdAt: number
  readonly expiresAt: number
  /** The id of the response that it continues. */
  readonly parent: string | undefined
  readonly object: Buffer
}

/** An ended response, with its own items only, not those of the responses before it. */
export interface EndedResponse extends StartedResponse {
  readonly status: 'completed' | 'incomplete' | 'failed' | 'cancelled'
  readonly input: readonly Buffer[]
  readonly output: readonly Buffer[]
  /** The bytes of its stream. */
  readonly events?: Buffer
  /** A repeated request gets its log as the stream (`isLogAsSent`). */
  readonly isAsSent?: boolean
  /** Its ending, from which recovery charges; undefined where recovery must not. */
  readonly facts: string | undefined
}

export interface FoundResponse {
  readonly status: ResponseStatus
  /** The JSON of the response with its output. */
  readonly body: Buffer
}

export type FoundContext =
  | { readonly kind: 'found'; readonly items: readonly Buffer[] }
  | { readonly kind: 'not-found' }
  /** It runs, or has ended without an answer that can be continued. */
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

export interface SentStream {
  readonly rawBytes: number
  /** Undefined when it can no longer be read. */
  read(): Promise<Buffer | undefined>
}

export interface StoredFacts {
  readonly facts: string
  /** A repeated request gets its stream again. */
  readonly isAsSent: boolean
}

/** A response with more items is not stored: looking all of them up would block others. */
export const RESPONSE_ITEMS_MAX = 5000

/** Responses that their account can read and continue by their ids. */
export interface StoredResponses {
  /** False when the operator has disabled storage. */
  readonly keeps: boolean
  /** Writes the row of a running response. True when it is durable. Never rejects. */
  begin(response: StartedResponse): Promise<boolean>
  /** Writes the final state with its items; for a JSON answer also the row. False on failure. Never rejects. */
  finish(response: EndedResponse): Promise<boolean>
  /** A begun response has ended without an answer. Never rejects. */
  end(id: string, account: AccountId, status: 'failed' | 'cancelled', object: Buffer): Promise<void>
  /** Undoes the storage. Never rejects. */
  forget(id: string, account: AccountId): Promise<void>
  find(account: AccountId, id: string): Promise<FoundResponse | undefined>
  /** All items of the chain, in order; too-large when they are more than `bytesMax` together. */
  context(account: AccountId, id: string, bytesMax: number): Promise<FoundContext>
  /** Items of answers by their ids, without those that do not exist. */
  items(account: AccountId, ids: readonly string[], bytesMax: number): Promise<FoundItems>
  events(account: AccountId, id: string, startingAfter: number): Promise<FoundEvents>
  /** The stream of a response, for a repeated request. */
  sent(account: AccountId, requestId: RequestId): Promise<SentStream | undefined>
  /** Deletes a response for its account; responses that continue it stay. False when there is none. */
  remove(account: AccountId, id: string): Promise<boolean>
  /** Called at start: fails what a dead process left running. Returns how many. */
  recover(): Promise<number>
  /** The endings of those requests whose responses are stored. Never rejects. */
  factsOf(requests: readonly RequestId[]): Promise<ReadonlyMap<RequestId, StoredFacts>>
  /** Deletes expired responses, a few at a time. Returns how many. */
  sweep(): Promise<number>
  /** For a closed account: destroys its key at once, and stores nothing for it any more. */
  forgetAccount(account: AccountId): Promise<void>
}
