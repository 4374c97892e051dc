import type { CatalogEntry, Lane } from '../catalog/catalog.ts'
import type { AdmittedTurn } from '../ledger/ledger.ts'
import type { AdmitRequest, ClaimRequest } from '../ledger/state/admit-turn.ts'
import type { Caller, ClientProgram } from '../model/caller.ts'
import type { Effort } from '../model/effort.ts'
import type { Opaque } from '../model/event.ts'
import type { AccountId, RequestId } from '../model/ids.ts'
import type { Price } from '../model/price.ts'
import { type Problem, retryableProblem } from '../model/problem.ts'
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
import type { Cancellation } from './cancellation.ts'
import type { Keeping } from './keep-answer.ts'
import { ledgerUnavailable } from './refusals.ts'

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

/** A turn that runs: its money is held, and everything is open that closes with it. */
export interface RunningTurn extends Turn {
  readonly hold: AdmittedTurn
  readonly encoder: TurnEncoder
  readonly releaseGate: ReleaseGate
  readonly keeping: Keeping
  readonly cancellation: Cancellation
}

/** What has to be durable before the first word leaves: R1, and nothing of a response that could not be asked for. */
export class ReleaseGate {
  /** It may leave now. */
  isOpen = false
  readonly #clearance: Promise<Problem | undefined>

  constructor(hold: Pick<AdmittedTurn, 'durable'>, keeping: Pick<Keeping, 'begun'>) {
    this.#clearance = clear(hold, keeping).then((found) => {
      this.isOpen = found === undefined
      return found
    })
  }

  /** Resolves when it may, or to why it may not. Never rejects. */
  opened(): Promise<Problem | undefined> {
    return this.#clearance
  }
}

async function clear(
  hold: Pick<AdmittedTurn, 'durable'>,
  keeping: Pick<Keeping, 'begun'>,
): Promise<Problem | undefined> {
  if ((await hold.durable) === 'lost') return ledgerUnavailable()
  return keeping.begun === undefined || (await keeping.begun) ? undefined : notStored()
}

const notStored = (): Problem =>
  retryableProblem(
    'server_is_overloaded',
    'The response cannot be stored at the moment; with "store": false it need not be.',
    { retryAfterSeconds: 2 },
  )

/**
 * Where an answer goes. `turn` decides what is said and when the end may be said; the sink only writes.
 *
 * quiet → head (status and headers have gone, perhaps keep-alives) → body (the first content has gone) → ended. The phase
 * is what may still be said; whether another lane may be tried, whoever carries the words knows.
 */
export type SinkPhase = 'quiet' | 'head' | 'body' | 'ended'

export interface Sink {
  readonly phase: SinkPhase
  /** The client's connection is closed; nothing written from now on arrives. */
  readonly disconnected: boolean
  /** Adds headers to the head, or takes back those that are undefined; without effect once it has gone. */
  announce(headers: Readonly<Record<string, string | undefined>>): void
  /** What is said when nothing has been said for a while; undefined: a comment will do. JSON answers have no silence. */
  onSilence(say: () => Buffer | undefined): void
  /** Content. Returns a promise while the client's socket is full: await it before reading more from the provider. */
  write(bytes: Buffer): Promise<void> | undefined
  /** The last bytes, or the whole JSON body, and the regular end. */
  end(bytes: Buffer): void
  /** An error as status and body. Only while `quiet`; afterwards a failure is said in the protocol's own words, by `end`. */
  refuse(problem: Problem): void
  /** Breaks the connection without an end, so that nobody takes what was sent for a whole answer. */
  cut(): void
  /** Calls back once when the client goes; returns how to stop listening. */
  onDisconnect(listener: () => void): () => void
}
