import type { CatalogEntry } from '../catalog/catalog.ts'
import type { AdmittedTurn } from '../ledger/ledger.ts'
import type { Effort } from '../model/effort.ts'
import type { TurnRequest } from '../model/turn.ts'
import type { LaneLessons } from '../routing/lane-lessons.ts'
import type { Send } from '../upstream/send.ts'
import type { CacheSalt } from '../wire/lane-target.ts'
import type { MintIds } from '../wire/mint-ids.ts'
import type { CallSeals } from '../wire/seals/call-seals.ts'
import type { FirstWord } from './first-word.ts'
import type { Sink } from './sink.ts'
import type { TurnAbort } from './turn-abort.ts'
import type { TurnVoice } from './turn-voice.ts'

export interface LaneDeps {
  readonly send: Send
  readonly lessons: LaneLessons
  readonly mint: MintIds
  readonly ticks: () => number
  readonly now: () => number
  readonly bounds: ProviderBounds
}

/** Bounds on what a provider may send us. */
export interface ProviderBounds {
  readonly frameBytesMax: number
  readonly bodyBytesMax: number
  readonly depthMax: number
  readonly valuesMax: number
}

/** A turn that may run: what it asks, of whom, with which money. */
export interface RunnableTurn {
  readonly turn: TurnRequest
  readonly voice: TurnVoice
  readonly entry: CatalogEntry
  readonly effort: Effort | undefined
  /** Of the account whose turn it is. */
  readonly callSeals: CallSeals
  /** Of the account, too. */
  readonly cacheSalt: CacheSalt
  readonly hold: AdmittedTurn
  readonly firstWord: FirstWord
  readonly inputEstimate: number
  readonly sink: Sink
  readonly abort: TurnAbort
}
