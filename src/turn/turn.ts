import type { AdmitRequest } from '../books/admit-turn.ts'
import type { ClaimRequest } from '../books/claims.ts'
import type { CatalogEntry, Lane } from '../catalog/catalog.ts'
import type { SentPrompt } from '../metering/seen-prefixes.ts'
import type { Caller } from '../model/caller.ts'
import type { ClientProgram } from '../model/client-program.ts'
import type { Effort } from '../model/effort.ts'
import type { RequestId } from '../model/ids.ts'
import type { Price } from '../model/price.ts'
import type { TurnRequest } from '../model/turn.ts'
import type { ConversationNames } from '../routing/sticky-lanes.ts'
import type { CacheSalt } from '../wire/lane-target.ts'
import type { CallSeals } from '../wire/seals/call-seals.ts'
import type { Sink } from './sink.ts'

/** A request as the edge hands it over: who asks for what, and where the answer goes. */
export interface AskedTurn {
  readonly requestId: RequestId
  readonly caller: Caller
  /** Undefined for all but the few clients that get some errors in another form. */
  readonly program?: ClientProgram | undefined
  readonly request: TurnRequest
  readonly sink: Sink
  /** Monotonic microseconds at which the request arrived. */
  readonly startedAt: number
  /** It is the first with its idempotency key: it runs once, its answer is kept, and nobody's going stops it. */
  readonly claim?: ClaimRequest | undefined
  /** Called at the first content of a large request: from here on it keeps so many bytes. */
  readonly onContent?: ((bytesKept: number) => void) | undefined
}

/** What may be admitted: the model is found, and the rules of the moment have been asked for the last time. */
export interface Turn extends AskedTurn {
  readonly entry: CatalogEntry
  readonly effort: Effort | undefined
  readonly price: Price
  /** That can do what is asked for. */
  readonly lanes: readonly Lane[]
  /** The bytes by which the conversation is known again; undefined where nobody will know it again. */
  readonly prompt: SentPrompt | undefined
  /** What is asked of the ledger. */
  readonly admitRequest: AdmitRequest
  readonly inputBound: number
  /** Of the account whose turn it is. */
  readonly callSeals: CallSeals
  /** The account's salt for caches of prompts. */
  readonly cacheSalt: CacheSalt
  /** The names by which the conversation is known; none where there is one lane only. */
  readonly names: ConversationNames
  /** The lane that the conversation was on. */
  readonly cameFrom: string | undefined
}
