import type { Callers } from '../auth/callers.ts'
import type { Catalog, CatalogEntry, Lane } from '../catalog/catalog.ts'
import type { AdmittedTurn, Ledger } from '../ledger/ledger.ts'
import type { AdmitRequest } from '../ledger/state/turns.ts'
import type { ConfiguredLimits } from '../limits/limits.ts'
import type { Effort } from '../model/effort.ts'
import type { Seals } from '../model/event.ts'
import type { AccountId } from '../model/ids.ts'
import type { ChosenCapTerms, Price } from '../model/price.ts'
import type { Problem } from '../model/problem.ts'
import type { LaneEstimators } from '../pricing/lane-estimators.ts'
import type { SeenPrefixes, SentPrompt } from '../pricing/seen-prefixes.ts'
import type { MintIds } from '../protocols/shared/codec-types.ts'
import type { Send } from '../providers/send.ts'
import type { LaneHealth } from '../routing/circuit-breaker.ts'
import type { LearnedCapabilities } from '../routing/learned-capabilities.ts'
import type { ConversationKeys, StickyLanes } from '../routing/plan-lanes.ts'
import type { GuardedTurn, PrefixGuard } from '../routing/prefix-guard.ts'
import type { RetryBudget, RetryWait } from '../routing/retry-budget.ts'
import type { Cancellation, CancellationServices } from './cancellation.ts'
import type { AnswerKeeper, KeepServices } from './keep-answer.ts'
import type { RunningResponses } from './running-responses.ts'
import type { CallSealMemory } from './seals.ts'
import type { TurnEncoder, TurnInput } from './turn-input.ts'

/** Everything that turns share. Catalogue, limits and cap terms are those of the current configuration. */
export interface TurnServices extends CancellationServices, KeepServices {
  readonly catalog: Catalog
  readonly limits: ConfiguredLimits
  readonly chosenCap: ChosenCapTerms
  readonly ledger: Pick<Ledger, 'admit' | 'limitStatuses' | 'allowanceStatuses' | 'gate'>
  readonly callers: Pick<Callers, 'findAgain' | 'changes'>
  readonly running: RunningResponses
  readonly sticky: StickyLanes
  readonly estimators: LaneEstimators
  readonly seenPrefixes: SeenPrefixes
  readonly prefixGuard: PrefixGuard
  /** Sealed reasoning kept for Chat clients, which cannot carry it. */
  readonly callSeals: CallSealMemory
  readonly cacheSaltOf: (account: AccountId) => string
  readonly send: Send
  readonly capabilities: LearnedCapabilities
  readonly health: LaneHealth
  readonly retryBudget: RetryBudget
  readonly retryWait: RetryWait
  readonly mint: MintIds
  readonly seals: Seals
  readonly nowMicros: () => number
  readonly random: () => number
  /** Bounds on what a provider may send. */
  readonly bounds: {
    readonly frameBytesMax: number
    readonly bodyBytesMax: number
    readonly depthMax: number
    readonly valuesMax: number
  }
}

/** A turn that may be admitted. It keeps the catalogue, price and limits that it began with. */
export interface PlannedTurn extends TurnInput {
  readonly entry: CatalogEntry
  readonly effort: Effort | undefined
  readonly price: Price
  /** The lanes that can do what the request asks for. */
  readonly lanes: readonly Lane[]
  /** The bytes by which the next turn of the conversation is recognized. */
  readonly prompt: SentPrompt | undefined
  readonly admitRequest: AdmitRequest
  readonly inputBound: number
  /** Undefined with one lane: there is nothing to stay on. */
  readonly conversationKeys: ConversationKeys | undefined
  /** The origin of the lane that the conversation was on. */
  readonly previousOrigin: string | undefined
  /** Undefined for a prompt that no provider caches. */
  readonly guarded: GuardedTurn | undefined
}

/** No content leaves before the release gate is open (R1). Call `hold.hurry()` before waiting for it. */
export interface ReleaseGate {
  isOpen: boolean
  /** Resolves when the gate is open, or to the problem that keeps it closed; never rejects. */
  opened: Promise<Problem | undefined> | undefined
}

/** A running turn: the planned one, completed when its hold is placed. */
export interface Turn extends PlannedTurn {
  readonly hold: AdmittedTurn
  readonly encoder: TurnEncoder
  readonly releaseGate: ReleaseGate
  /** Undefined for most turns: nothing of the answer is kept. */
  readonly keeper: AnswerKeeper | undefined
  readonly cancellation: Cancellation
  /** What was streamed so far, marked as delivered or not. */
  streamedTokens: number
}
