import type { CatalogEntry, Lane } from '../catalog/catalog.ts'
import type { AdmitRequest, ClaimRequest } from '../ledger/state/admit-turn.ts'
import type { Caller, ClientProgram } from '../model/caller.ts'
import type { Effort } from '../model/effort.ts'
import type { Opaque } from '../model/event.ts'
import type { AccountId, RequestId } from '../model/ids.ts'
import type { Price } from '../model/price.ts'
import type { Seals } from '../model/seals.ts'
import type { Compacted, TurnRequest } from '../model/turn.ts'
import type { SentPrompt } from '../pricing/seen-prefixes.ts'
import { type ChatEncoder, createChatEncoder } from '../protocols/chat/encoder.ts'
import { createResponsesEncoder, type ResponsesEncoder } from '../protocols/responses/encoder.ts'
import type { Sealing } from '../protocols/responses/write-item.ts'
import type { CallSeals } from '../protocols/seals/call-seals.ts'
import type { MintIds } from '../protocols/shared/event-reader.ts'
import type { CacheSalt } from '../protocols/shared/lane-target.ts'
import type { ConversationNames } from '../routing/plan-lanes.ts'
import type { Sink } from './sink.ts'

/** A request as the edge hands it over: who asks for what, and where the answer goes. */
export interface TurnInput {
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
export interface Turn extends TurnInput {
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

/** What the clients of one account carry for us from one request to the next. What does not open is undefined. */
export interface Envelopes extends Sealing {
  openReasoning(envelope: string): Opaque | undefined
  openCompaction(envelope: string): Compacted | undefined
}

export function envelopesOf(seals: Seals, owner: AccountId): Envelopes {
  return {
    sealReasoning: (opaque) => seals.seal('reasoning', owner, JSON.stringify(listOf(opaque))),
    openReasoning(envelope) {
      const opened = seals.open('reasoning', owner, envelope)
      return opened === undefined ? undefined : opaqueOf(JSON.parse(opened))
    },
    sealCompaction: (compacted) =>
      seals.seal(
        'compaction',
        owner,
        JSON.stringify(compacted.kind === 'summary' ? compacted.text : listOf(compacted.opaque)),
      ),
    openCompaction(envelope) {
      const opened = seals.open('compaction', owner, envelope)
      if (opened === undefined) return undefined
      const content = JSON.parse(opened) as string | List
      return typeof content === 'string'
        ? { kind: 'summary', text: content }
        : { kind: 'native', opaque: opaqueOf(content) }
    },
  }
}

/** Short, because clients send it again with every request. */
type List = readonly [wire: Opaque['wire'], origin: string, data: string]

const listOf = ({ wire, origin, data }: Opaque): List => [wire, origin, data]
const opaqueOf = ([wire, origin, data]: List): Opaque => ({ wire, origin, data })

/** What the client of a turn is spoken to in. */
export type TurnEncoder = ChatEncoder | ResponsesEncoder

export interface EncoderServices {
  readonly mint: MintIds
  readonly now: () => number
  readonly seals: Seals
}

type EncodedTurn = Pick<Turn, 'requestId' | 'caller' | 'program' | 'request' | 'entry' | 'effort'>

/** `mayOpen` is false while an answer that is opened could not be asked for by its id. */
export function createEncoder(
  { mint, now, seals }: EncoderServices,
  turn: EncodedTurn,
  mayOpen: () => boolean,
): TurnEncoder {
  const { request, requestId, caller, program, entry, effort } = turn
  if (request.protocol === 'chat') return createChatEncoder({ request, model: entry.id, requestId, mint, now })
  const { sealReasoning, sealCompaction } = envelopesOf(seals, caller.accountId)
  return createResponsesEncoder({
    ...{ request, model: entry.id, effort, requestId, mint, now, mayOpen, program },
    responseId: mint.responseId(),
    ...{ sealReasoning, sealCompaction },
    createdAt: Math.floor(now() / 1000),
  })
}
