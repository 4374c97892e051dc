import type { ProblemCode } from '../../../src/model/problem.ts'
import type { ActName } from './actions.ts'
import type { PreparationName } from './preparations.ts'
import type { Step } from './provider-steps.ts'

/** What the client of an answer makes of it in the end. */
export type Seen =
  | { readonly kind: 'whole' }
  /** Status and body of an error; nothing of an answer has gone out. */
  | { readonly kind: 'refused'; readonly code: ProblemCode }
  /** An error at the end of a stream, and nothing that says that it is complete. */
  | { readonly kind: 'broken'; readonly code: ProblemCode }
  /** The connection broke before anything of an answer had come. */
  | { readonly kind: 'nothing' }
  /** The connection broke in the middle of it, before anything said that it is complete. */
  | { readonly kind: 'cut' }
  /** It has hung up itself. */
  | { readonly kind: 'gone' }

/**
 * What is known of the idempotency key afterwards: `free` means that the next request with it runs, `another` that it
 * stands for another body.
 */
export type ClaimAfter = 'kept' | 'not-kept' | 'free' | 'another'

/** What has to come of an ending in one kind of delivery. Outcome and charge are read from the page. */
export interface Expected {
  /** The row of `docs/operate/charges.md` that speaks of it. */
  readonly row: string
  /** The row that counts, where the first one says no more than "as if". */
  readonly asIf?: string
  readonly seen: Seen
  readonly claim: ClaimAfter
  /** How many of the provider's words had come when it ended; all of them where nothing is written. */
  readonly words?: number
  /** How many of them were marked as delivered when the process died; undefined: nothing was. */
  readonly marked?: number
  /** The provider counts nothing but zeros. */
  readonly zero?: boolean
  /** Where another lane than the first has answered. */
  readonly lane?: 'second'
  /** As what its account finds the response afterwards, where that does not follow from the rest. */
  readonly stored?: StoredAs
  /** What is different where the answer can be asked for later. */
  readonly whenStored?: Difference
  /** What is different for a client that waits for a stream, where a course is for both kinds of delivery. */
  readonly whenStreamed?: Difference
  /** What is different for a request with an idempotency key. */
  readonly withKey?: Difference
  /** What is different for a builder key. */
  readonly asBuilder?: Difference
}

type Difference = Partial<Omit<Expected, 'withKey' | 'asBuilder' | 'whenStored' | 'whenStreamed'>>

/** What `GET /v1/responses/{id}` says of it; `absent`: that there is none. */
export type StoredAs = 'completed' | 'incomplete' | 'failed' | 'cancelled' | 'absent'

/** What happens to a request in one kind of delivery, and what has to come of it. */
export interface Course extends Expected {
  /** What the provider does, one list for each lane. */
  readonly provider: readonly (readonly Step[])[]
  /** What the client has got when the act begins: the head of its answer, or some text in it. */
  readonly until?: 'head' | { readonly text: string }
}

export type UpstreamName = 'patient' | 'deaf' | 'brief-first-byte' | 'brief-idle' | 'brief-no-progress' | 'brief-total'

/** One way in which a request can end, and how it is brought about. */
export interface Ending {
  readonly name: string
  readonly json?: Course
  readonly stream?: Course
  /** Of a JSON answer that is made of a stream; as `json`, with the provider's steps as a stream's, where it is left out. */
  readonly collected?: Course
  /**
   * Of a conversation that is made short: as `collected` where it is left out, or as the stream's if that is before any
   * content.
   */
  readonly compacted?: Course
  /** It needs a provider that says why its answer ends before it says its counts: in Responses one event says both. */
  readonly countsApart?: true
  /** Whose patience and address: `patient` where nothing is written. */
  readonly upstream?: UpstreamName
  /** What is done beforehand. */
  readonly before?: PreparationName
  /** What is done while every provider waits in the middle of its steps. */
  readonly act?: ActName
  /** More fields of the request. */
  readonly sends?: object
  /** More headers of the request. */
  readonly headers?: Readonly<Record<string, string>>
  /** The head of a stream goes out although there is no content yet. */
  readonly hasty?: true
  /** Only a streamed response can end so: one in the background, or one that is followed. */
  readonly streamedResponseOnly?: true
  /** It can only come about with an idempotency key. */
  readonly keyedOnly?: true
}
