import { createRequestDigests } from '../../idempotency/request-digests.ts'
import { createByteBudget } from '../../lib/byte-budget.ts'
import { uniform } from '../../lib/random-id.ts'
import { createLaneRates } from '../../metering/lane-rates.ts'
import { createSeenPrefixes } from '../../metering/seen-prefixes.ts'
import { createLaneLessons } from '../../routing/lane-lessons.ts'
import { createRetryBudget } from '../../routing/retry-budget.ts'
import { createStickyLanes } from '../../routing/sticky-lanes.ts'
import { createCacheSalts } from '../../seals/cache-salts.ts'
import { createDrains } from '../../turn/drains.ts'
import type { OnceDeps } from '../../turn/keep/look-up-answer.ts'
import type { RecordingBounds } from '../../turn/keep/recording.ts'
import { createCallSealMemory } from '../../turn/lane/call-seal-memory.ts'
import { createPatience } from '../../turn/lane/patience.ts'
import type { ReadDeps } from '../../turn/read/read-turn.ts'
import type { TurnDeps } from '../../turn/serve-turn.ts'
import type { Send } from '../../upstream/send.ts'
import { mintIdsOf } from '../../wire/mint-ids.ts'
import type { Parts } from './parts.ts'
import type { TurnCounter } from './turn-counter.ts'

const MiB = 1024 * 1024
/** A larger answer is given, charged, and not kept: no text is as long. */
const KEPT_ANSWER_BYTES_MAX = 32 * MiB
/** Answers of turns that run with an idempotency key, and kept ones on their way out again, all together. */
const KEPT_MEMORY_BYTES = 256 * MiB

/** How much of an answer is recorded while it runs, and of all of them together. */
export const createRecordingBounds = (): RecordingBounds => ({
  answerBytesMax: KEPT_ANSWER_BYTES_MAX,
  budget: createByteBudget(KEPT_MEMORY_BYTES),
})

interface TurnMeans {
  readonly turns: TurnCounter
  readonly send: Send
  readonly recording: RecordingBounds
}

/** What turns need of the house: the rules of the moment, the books, and the way to the providers. */
export function turnDepsOf(parts: Parts, { turns, send, recording }: TurnMeans): TurnDeps {
  const { clock, random, rules, ledger, answers, responses, seals, health, config } = parts
  const { bounds } = config
  return {
    get catalog() {
      return rules.current.catalog
    },
    get limits() {
      return rules.current.limits
    },
    get chosenCap() {
      return rules.current.chosenCap
    },
    ledger,
    rights: parts.finder,
    answers,
    responses,
    stateMs: config.retention.stateMs,
    ...recording,
    onCut: turns.onCut,
    drains: createDrains({ ticks: () => clock.ticks() }),
    sticky: createStickyLanes({ ticks: () => clock.ticks() }),
    rates: createLaneRates(),
    seen: createSeenPrefixes({ ticks: () => clock.ticks() }),
    callSeals: createCallSealMemory({ ticks: () => clock.ticks() }),
    cacheSaltOf: createCacheSalts(parts.ring.founding.secret),
    send,
    lessons: createLaneLessons(),
    health,
    retries: createRetryBudget({ ticks: () => clock.ticks(), terms: () => rules.current.routing.retries }),
    patience: createPatience({ mostMs: () => rules.current.routing.patienceMs, random: () => uniform(random) }),
    mint: mintIdsOf(random),
    seals,
    now: () => clock.now(),
    ticks: () => clock.ticks(),
    random: () => uniform(random),
    bounds: {
      frameBytesMax: bounds.frameBytesMax,
      bodyBytesMax: bounds.bodyBytesMax,
      depthMax: bounds.jsonDepthMax,
      valuesMax: bounds.jsonValuesMax,
    },
  }
}

/** What it takes to know a request again, and to give its answer again. */
export function onceDepsOf(
  { rules, ledger, answers, responses, ring, config }: Parts,
  recording: RecordingBounds,
): OnceDeps {
  return {
    ledger,
    answers,
    responses,
    digests: createRequestDigests(ring.founding.secret),
    get limits() {
      return rules.current.limits
    },
    keptMs: config.retention.idempotencyMs,
    budget: recording.budget,
  }
}

/** What it takes to read a request with all that it refers to. */
export function readDepsOf({ rules, responses, seals, config }: Parts): ReadDeps {
  const { bodyBytesMax, jsonDepthMax, jsonValuesMax } = config.bounds
  return {
    responses,
    seals,
    stateMs: config.retention.stateMs,
    bounds: { bytesMax: bodyBytesMax, depthMax: jsonDepthMax, valuesMax: jsonValuesMax },
    get catalog() {
      return rules.current.catalog
    },
    get hostedTools() {
      return rules.current.hostedTools
    },
  }
}
