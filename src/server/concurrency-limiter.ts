import { createByteBudget } from '../lib/bytes.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import { type Problem, passingProblem, problem, type Refused, refused } from '../model/problem.ts'

/** How much this process takes on. Read at each decision, so that another configuration holds from then on. */
export interface LimiterSettings {
  /** For everything that runs, in bytes. */
  readonly memoryBytes: number
  readonly queueLength: number
  readonly queueMs: number
}

/** Why a turn was sent away, or a connection: the label of the metric. */
export type ShedReason = 'memory' | 'queue_full' | 'body' | 'event_loop' | 'connections'

interface LimiterOptions {
  readonly terms: () => LimiterSettings
  /** Whether the event loop has been behind its work for a while. */
  readonly isStrained: () => boolean
  readonly random: RandomBytes
  readonly onShed: (reason: ShedReason) => void
}

/** Keeps this process from taking on more turns than it has memory and time for. What runs already is never sent away. */
export interface ConcurrencyLimiter {
  /** Asked before the body of a turn is read. `onDisconnect` calls back when its client goes, and returns how to forget that. */
  acquire(onDisconnect: (leave: () => void) => () => void): AcquireOutcome | Promise<AcquireOutcome>
  readonly figures: LimiterFigures
}

export type AcquireOutcome = { readonly kind: 'entered'; readonly place: Slot } | Refused | { readonly kind: 'gone' }

/** What a turn keeps in memory from its door to its end. */
export interface Slot {
  /** It needs so many more bytes; a problem where there is no room for them. */
  take(bytes: number): Problem | undefined
  /** It needs exactly so many from here on, whatever it has taken; a problem where that is more and there is no room. */
  keep(bytes: number): Problem | undefined
  release(): void
}

interface LimiterFigures {
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

export function createConcurrencyLimiter(deps: LimiterOptions): ConcurrencyLimiter {
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
  const entered = (): AcquireOutcome => ({ kind: 'entered', place: openPlace() })
  const openPlace = (): Slot => {
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
      release() {
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
    acquire(onDisconnect) {
      if (deps.isStrained()) return refused(shed('event_loop'))
      const { queueLength, queueMs } = deps.terms()
      const joined = line.join(tryEnter, { lengthMax: queueLength, msMax: queueMs })
      if (joined === 'passed') return entered()
      if (joined === 'full') return refused(shed('queue_full'))
      const forget = onDisconnect(joined.leave)
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

/** Those who wait for something to become free, in the order in which they came. */
interface WaitingLine {
  readonly length: number
  /**
   * `passed` where nobody waits and there is room, `full` where as many wait as may; else a wait, whose `tryPass` is asked
   * when the line advances. It takes what it needs in the same step.
   */
  join(tryPass: () => boolean, bounds: LineBounds): 'passed' | 'full' | Wait
  /** Something has become free: from the front on, as many pass as can. Who cannot keeps all behind it waiting. */
  advance(): void
}

interface LineBounds {
  readonly lengthMax: number
  readonly msMax: number
}

export interface Wait {
  readonly outcome: Promise<'passed' | 'too-long' | 'left'>
  leave(): void
}

export function createWaitingLine(): WaitingLine {
  const waiting: { tryPass(): boolean; end(how: 'passed' | 'too-long' | 'left'): void }[] = []
  const advance = () => {
    while (waiting[0]?.tryPass()) waiting[0].end('passed')
  }
  return {
    get length() {
      return waiting.length
    },
    join(tryPass, { lengthMax, msMax }) {
      if (waiting.length === 0 && tryPass()) return 'passed'
      if (waiting.length >= lengthMax) return 'full'
      let leave = () => {}
      const outcome = new Promise<'passed' | 'too-long' | 'left'>((resolve) => {
        const waiter = {
          tryPass,
          end(how: 'passed' | 'too-long' | 'left') {
            const place = waiting.indexOf(waiter)
            if (place < 0) return
            clearTimeout(timer)
            waiting.splice(place, 1)
            resolve(how)
            // Whoever stood behind one that was too large for what is left may fit.
            if (place === 0 && how !== 'passed') advance()
          },
        }
        const timer = setTimeout(() => waiter.end('too-long'), msMax).unref()
        leave = () => waiter.end('left')
        waiting.push(waiter)
      })
      return { outcome, leave }
    },
    advance,
  }
}
