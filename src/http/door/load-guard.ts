import { createByteBudget } from '../../lib/byte-budget.ts'
import type { RandomBytes } from '../../lib/random-id.ts'
import { createWaitingLine } from '../../lib/waiting-line.ts'
import { type Problem, passingProblem, problem, type Refused, refused } from '../../model/problem.ts'

/** How much this process takes on. Read at each decision, so that another configuration holds from then on. */
export interface LoadTerms {
  /** For everything that runs, in bytes. */
  readonly memoryBytes: number
  readonly queueLength: number
  readonly queueMs: number
}

/** Why a turn was sent away, or a connection: the label of the metric. */
export type ShedReason = 'memory' | 'queue_full' | 'body' | 'event_loop' | 'connections'

export interface LoadGuardDeps {
  readonly terms: () => LoadTerms
  /** Whether the event loop has been behind its work for a while. */
  readonly isStrained: () => boolean
  readonly random: RandomBytes
  readonly onShed: (reason: ShedReason) => void
}

/** Keeps this process from taking on more turns than it has memory and time for. What runs already is never sent away. */
export interface LoadGuard {
  /** Asked before the body of a turn is read. `onGone` calls back when its client goes, and returns how to forget that. */
  enter(onGone: (leave: () => void) => () => void): LoadEntry | Promise<LoadEntry>
  readonly figures: LoadFigures
}

export type LoadEntry = { readonly kind: 'entered'; readonly place: LoadPlace } | Refused | { readonly kind: 'gone' }

/** What a turn keeps in memory from its door to its end. */
export interface LoadPlace {
  /** It needs so many more bytes; a problem where there is no room for them. */
  take(bytes: number): Problem | undefined
  /** It needs exactly so many from here on, whatever it has taken; a problem where that is more and there is no room. */
  keep(bytes: number): Problem | undefined
  leave(): void
}

export interface LoadFigures {
  readonly running: number
  readonly bytesTaken: number
  readonly bytesMax: number
  readonly waiting: number
}

/** Beside its body: what streams of all kinds take, with the buffers of two sockets (`bench/slow-clients.mjs` measures it). */
export const TURN_BYTES = 256 * 1024
/**
 * The largest body of text beside its turn: its bytes, and while it is parsed the text and the strings of its value, with two
 * bytes for each character where one of them is not ASCII.
 */
export const bytesOfLargestTurn = (bodyBytesMax: number): number => TURN_BYTES + 5 * bodyBytesMax
/** At the door, so much of the memory is kept for the bodies of those who are in already. */
const KEPT_FOR_BODIES = 1 / 8
/** Drawn anew for each, so that those who were sent away together do not come back together. */
const RETRY_SECONDS_MAX = 3

export function createLoadGuard(deps: LoadGuardDeps): LoadGuard {
  const budget = createByteBudget(() => deps.terms().memoryBytes)
  const line = createWaitingLine()
  let running = 0

  const tryEnter = () => {
    const kept = deps.terms().memoryBytes * KEPT_FOR_BODIES
    // However small the memory, one turn runs.
    if (running > 0 && budget.taken + TURN_BYTES + kept > deps.terms().memoryBytes) return false
    if (!budget.take(TURN_BYTES)) return false
    running += 1
    return true
  }
  const entered = (): LoadEntry => ({ kind: 'entered', place: openPlace() })
  const openPlace = (): LoadPlace => {
    let taken = TURN_BYTES
    const take = (bytes: number): Problem | undefined => {
      if (!budget.take(bytes)) return taken + bytes > deps.terms().memoryBytes ? neverFits() : shed('body')
      taken += bytes
      return undefined
    }
    return {
      take,
      keep(bytes) {
        const more = TURN_BYTES + bytes - taken
        // The turn is over, and has given everything back.
        if (taken === 0 || more === 0) return undefined
        if (more > 0) return take(more)
        budget.give(-more)
        taken += more
        line.advance()
        return undefined
      },
      leave() {
        if (taken === 0) return
        budget.give(taken)
        taken = 0
        running -= 1
        line.advance()
      },
    }
  }
  const shed = (reason: keyof typeof WHY): Problem => {
    deps.onShed(reason)
    const retryAfterSeconds = 1 + (deps.random(1)[0]! % RETRY_SECONDS_MAX)
    return passingProblem('server_is_overloaded', WHY[reason], { retryAfterSeconds })
  }

  return {
    enter(onGone) {
      if (deps.isStrained()) return refused(shed('event_loop'))
      const { queueLength, queueMs } = deps.terms()
      const joined = line.join(tryEnter, { lengthMax: queueLength, msMax: queueMs })
      if (joined === 'passed') return entered()
      if (joined === 'full') return refused(shed('queue_full'))
      const forget = onGone(joined.leave)
      return joined.outcome.then((outcome) => {
        forget()
        if (outcome === 'left') return { kind: 'gone' }
        return outcome === 'passed' ? entered() : refused(shed('memory'))
      })
    },
    get figures() {
      return {
        running,
        bytesTaken: budget.taken,
        bytesMax: deps.terms().memoryBytes,
        waiting: line.length,
      }
    },
  }
}

/** To come back would be in vain. */
const neverFits = (): Problem =>
  problem(
    'request_too_large',
    'This request takes more memory than this server has for all requests together. Send fewer values, or a shorter text.',
  )

const WHY = {
  memory: 'This server runs as many requests as it has memory for, and none of them ended while this one waited.',
  queue_full: 'This server runs as many requests as it has memory for, and as many as may wait are waiting.',
  body: 'This server has no memory left for this body.',
  event_loop: 'This server is behind its work and takes on no more for the moment.',
} as const satisfies Partial<Record<ShedReason, string>>
