import type { RandomBytes } from '../lib/random-id.ts'
import { type Problem, problem, type Refused, refused, retryableProblem } from '../model/problem.ts'

/** How much this process takes on. Read at each decision, so a reload takes effect at once. */
export interface LimiterSettings {
  /** For all running turns together, in bytes. */
  readonly memoryBytes: number
  readonly queueLength: number
  readonly queueMs: number
}

/** Why a turn or a connection was shed: the label of the metric. */
export type ShedReason = 'memory' | 'queue_full' | 'body' | 'event_loop' | 'connections'

interface LimiterOptions {
  readonly rules: { readonly current: { readonly load: LimiterSettings } }
  /** Whether the event loop has been behind its work for a while. */
  readonly loop: { readonly isStrained: boolean }
  readonly random: RandomBytes
  readonly onShed: (reason: ShedReason) => void
}

/** The client of a turn that waits. `onLeave` calls back when it disconnects, and returns how to remove the listener. */
interface WaitingClient {
  onLeave(leave: () => void): () => void
}

/**
 * Keeps this process from taking on more turns than it has memory and time for. A running turn is never shed. The limit on concurrent
 * requests of a key is another one (`ledger/state/turn-limits.ts`).
 */
export interface ConcurrencyLimiter {
  /** Called before the body of a turn is read. */
  acquire(client: WaitingClient): AcquireOutcome | Promise<AcquireOutcome>
  /** The connection limit is reached, and a connection was closed without an answer. */
  onConnectionDropped(): void
  readonly figures: LimiterFigures
}

export type AcquireOutcome =
  | { readonly kind: 'acquired'; readonly slot: Slot }
  | Refused
  | { readonly kind: 'disconnected' }

/** The memory of one turn, from its body to its end. */
export interface Slot {
  /** Takes more bytes; a problem when they are not available. */
  take(bytes: number): Problem | undefined
  /**
   * The body did not come with its head: until `endBody` the turn is one of those that its account is sending, which together may take
   * what they leave free to others. A problem when that is too little; the only one of its account may always begin.
   */
  beginBody(account: number): Problem | undefined
  endBody(): void
  /** Sets the memory of the turn to these bytes; a problem when that is more and not available. */
  keep(bytes: number): Problem | undefined
  release(): void
}

interface LimiterFigures {
  readonly running: number
  readonly bytesTaken: number
  readonly bytesMax: number
  readonly waiting: number
}

/** What a stream takes beside its body, with the buffers of two sockets (measured by `bench/slow-clients.mjs`). */
export const TURN_BYTES = 256 * 1024
/**
 * The largest text body beside its turn: its bytes, and while it is parsed the text and the strings of its value, with two
 * bytes a character when one of them is not ASCII.
 */
export const bytesOfLargestTurn = (bodyBytesMax: number): number => TURN_BYTES + 5 * bodyBytesMax
/** This share of the memory is reserved for the bodies of running turns. */
const RESERVED_FOR_BODIES = 1 / 8
/** Random for each turn, so that turns that were shed together do not retry together. */
const RETRY_SECONDS_MAX = 3

export function createConcurrencyLimiter({ rules, loop, random, onShed }: LimiterOptions): ConcurrencyLimiter {
  const queue = createQueue()
  let running = 0
  let bytesTaken = 0
  /** The bytes of turns whose bodies are arriving, by account. */
  const arriving = new Map<number, number>()

  const tryAcquire = () => {
    const { memoryBytes } = rules.current.load
    // One turn runs however small the memory is.
    const reserved = running > 0 ? memoryBytes * RESERVED_FOR_BODIES : 0
    if (bytesTaken + TURN_BYTES + reserved > memoryBytes) return false
    bytesTaken += TURN_BYTES
    running += 1
    return true
  }
  const shed = (reason: keyof typeof SHED_MESSAGES, message: string = SHED_MESSAGES[reason]): Problem => {
    onShed(reason)
    const retryAfterSeconds = 1 + (random(1)[0]! % RETRY_SECONDS_MAX)
    return retryableProblem('server_is_overloaded', message, { retryAfterSeconds })
  }

  class MemorySlot implements Slot {
    #taken = TURN_BYTES
    #sender: number | undefined

    take(bytes: number): Problem | undefined {
      const { memoryBytes } = rules.current.load
      if (bytesTaken + bytes > memoryBytes) return this.#taken + bytes > memoryBytes ? neverFits() : shed('body')
      if (this.#sender !== undefined) {
        const sent = arriving.get(this.#sender)!
        const isOnlyOne = sent === this.#taken
        if (!isOnlyOne && sent + bytes > memoryBytes - bytesTaken - bytes) return shed('body', SENDS_TOO_MUCH)
        arriving.set(this.#sender, sent + bytes)
      }
      bytesTaken += bytes
      this.#taken += bytes
      return undefined
    }

    beginBody(account: number): Problem | undefined {
      const others = arriving.get(account) ?? 0
      const free = rules.current.load.memoryBytes - bytesTaken
      if (others > 0 && others + this.#taken > free) return shed('body', SENDS_TOO_MUCH)
      this.#sender = account
      arriving.set(account, others + this.#taken)
      return undefined
    }

    endBody(): void {
      if (this.#sender === undefined) return
      const others = arriving.get(this.#sender)! - this.#taken
      if (others > 0) arriving.set(this.#sender, others)
      else arriving.delete(this.#sender)
      this.#sender = undefined
    }

    keep(bytes: number): Problem | undefined {
      const more = TURN_BYTES + bytes - this.#taken
      // After `release` nothing is taken.
      if (this.#taken === 0 || more === 0) return undefined
      if (more > 0) return this.take(more)
      bytesTaken += more
      this.#taken += more
      if (queue.waiting.length > 0) queue.advance()
      return undefined
    }

    release(): void {
      if (this.#taken === 0) return
      this.endBody()
      bytesTaken -= this.#taken
      this.#taken = 0
      running -= 1
      if (queue.waiting.length > 0) queue.advance()
    }
  }

  return {
    acquire(client) {
      if (loop.isStrained) return refused(shed('event_loop'))
      if (queue.waiting.length === 0 && tryAcquire()) return { kind: 'acquired', slot: new MemorySlot() }
      const { queueLength, queueMs } = rules.current.load
      if (queue.waiting.length >= queueLength) return refused(shed('queue_full'))
      const wait = queue.join(tryAcquire, queueMs)
      const forget = client.onLeave(wait.leave)
      return wait.outcome.then((outcome) => {
        forget()
        if (outcome === 'left') return { kind: 'disconnected' }
        return outcome === 'passed' ? { kind: 'acquired', slot: new MemorySlot() } : refused(shed('memory'))
      })
    },
    onConnectionDropped: () => onShed('connections'),
    get figures() {
      return { running, bytesTaken, bytesMax: rules.current.load.memoryBytes, waiting: queue.waiting.length }
    },
  }
}

/** A retry would not help. */
const neverFits = (): Problem =>
  problem(
    'request_too_large',
    'This request needs more memory than this server has for all requests together. Send fewer values or a shorter text.',
  )

const SHED_MESSAGES = {
  memory: 'This server is overloaded: no memory became free while this request waited.',
  queue_full: 'This server is overloaded: all memory for requests is in use, and the queue is full.',
  body: 'This server is overloaded: it has no memory left for this body.',
  event_loop: 'This server is overloaded and accepts no new requests at the moment.',
} as const satisfies Partial<Record<ShedReason, string>>

const SENDS_TOO_MUCH =
  'This server is overloaded: the bodies that this account is sending at the same time take all of its share of the memory.'

/** Turns that wait for memory, first come, first served. */
interface Queue {
  readonly waiting: readonly object[]
  /** Waits for at most `msMax`. `tryPass` is called when the queue advances, and takes what it needs in the same step. */
  join(tryPass: () => boolean, msMax: number): Wait
  /** Something became free. Turns pass from the front, until one does not fit. */
  advance(): void
}

type WaitOutcome = 'passed' | 'too-long' | 'left'

interface Wait {
  readonly outcome: Promise<WaitOutcome>
  leave(): void
}

export function createQueue(): Queue {
  const waiting: { tryPass(): boolean; end(how: WaitOutcome): void }[] = []
  const advance = () => {
    while (waiting[0]?.tryPass()) waiting[0].end('passed')
  }
  return {
    waiting,
    join(tryPass, msMax) {
      let leave = () => {}
      const outcome = new Promise<WaitOutcome>((resolve) => {
        const waiter = {
          tryPass,
          end(how: WaitOutcome) {
            const index = waiting.indexOf(waiter)
            if (index < 0) return
            clearTimeout(timer)
            waiting.splice(index, 1)
            resolve(how)
            // The first one may have been too large for what is free, and the next one may fit.
            if (index === 0 && how !== 'passed') advance()
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
