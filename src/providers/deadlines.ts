import type { UpstreamTimeouts } from '../catalog/catalog.ts'
import { afterSocketsRead } from '../lib/async.ts'
import type { Delivery } from '../model/turn.ts'

/** What a call was waiting for when its time was up. */
export type DeadlinePhase = 'connect' | 'first-byte' | 'idle' | 'no-progress' | 'total'

/** The time limits of the calls of one upstream with one delivery. */
export interface TimeLimits {
  readonly isStream: boolean
  readonly firstByteTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly noProgressTimeoutMs: number
  readonly totalTimeoutMs: number
  /** Checked so often, no deadline that begins after the timer was set is late, and the timer never has to be set again. */
  readonly checkEveryMs: number
}

export function timeLimitsOf(timeouts: UpstreamTimeouts, delivery: Delivery): TimeLimits {
  const { idleTimeoutMs, totalTimeoutMs } = timeouts
  const isStream = delivery === 'stream'
  // A JSON answer may send nothing, or only blanks, for as long as a whole call. Once it has begun it has no reason to stop.
  const firstByteTimeoutMs = isStream ? timeouts.firstByteTimeoutMs : timeouts.jsonAnswerTimeoutMs
  const noProgressTimeoutMs = isStream ? timeouts.noProgressTimeoutMs : totalTimeoutMs
  const checkEveryMs = Math.min(firstByteTimeoutMs, idleTimeoutMs, noProgressTimeoutMs, totalTimeoutMs)
  return { isStream, firstByteTimeoutMs, idleTimeoutMs, noProgressTimeoutMs, totalTimeoutMs, checkEveryMs }
}

/** A timer that is so late was not delayed by work: the process was suspended, or its machine was. */
const SUSPENDED_MICROS = 1_000_000

/** The deadlines of one call. Bytes cost a reading of the clock; one timer checks the limits. */
export class Deadlines {
  /** Monotonic microseconds. */
  readonly #nowMicros: () => number
  readonly #limits: TimeLimits
  readonly #onExpired: (phase: DeadlinePhase) => void
  #startedAt: number
  #phase: 'head' | 'body' | 'paused'
  #byteAt: number | undefined
  #progressAt: number
  /** What the next chunk continues. */
  #line: LineKind
  #timer: NodeJS.Timeout
  #checkAt: number
  #cancelExpiry: (() => void) | undefined

  constructor(nowMicros: () => number, limits: TimeLimits, onExpired: (phase: DeadlinePhase) => void) {
    const now = nowMicros()
    this.#nowMicros = nowMicros
    this.#limits = limits
    this.#onExpired = onExpired
    this.#startedAt = now
    this.#phase = 'head'
    this.#progressAt = now
    this.#line = 'start'
    this.#checkAt = now + limits.checkEveryMs * 1000
    this.#timer = setTimeout(() => this.#check(), limits.checkEveryMs)
  }

  headArrived(): void {
    this.#phase = 'body'
    this.#progressAt = this.#nowMicros()
    if (this.#limits.isStream) this.#byteAt = this.#progressAt
  }

  /** The chunks of one read of the socket arrive at one time. */
  bytesArrived(chunk: Buffer, isOfLastRead = false): void {
    if (!isOfLastRead) this.#byteAt = this.#nowMicros()
    // Nearly all chunks are whole lines of data.
    const isData = this.#line === 'start' && chunk[0]! > COLON && chunk[chunk.length - 1] === LINE_FEED
    if (isData || !this.#isKeepAlive(chunk)) this.#progressAt = this.#byteAt ?? this.#progressAt
  }

  /** Backpressure: while the client does not read, the provider owes nothing. */
  pause(): void {
    this.#phase = 'paused'
  }

  resume(): void {
    this.#phase = 'body'
    this.#byteAt = this.#nowMicros()
    this.#progressAt = this.#byteAt
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#cancelExpiry?.()
  }

  #check(): void {
    const now = this.#nowMicros()
    // While the process was suspended, the total time stood still: it says nothing about the provider.
    if (now - this.#checkAt > SUSPENDED_MICROS) this.#startedAt += now - this.#checkAt
    if (this.#nearest().at > now) this.#checkLater(now)
    else this.#cancelExpiry = afterSocketsRead(() => this.#expire())
  }

  #checkLater(now: number): void {
    const inMs = Math.min(this.#limits.checkEveryMs, Math.ceil((this.#nearest().at - now) / 1000))
    this.#checkAt = now + inMs * 1000
    this.#timer = setTimeout(() => this.#check(), inMs)
  }

  /** Bytes that have arrived are read first. */
  #expire(): void {
    const now = this.#nowMicros()
    const { at, waitedFor } = this.#nearest()
    if (at <= now) this.#onExpired(waitedFor)
    else this.#checkLater(now)
  }

  #nearest(): { readonly at: number; readonly waitedFor: DeadlinePhase } {
    const { firstByteTimeoutMs, idleTimeoutMs, noProgressTimeoutMs, totalTimeoutMs } = this.#limits
    let at = this.#startedAt + totalTimeoutMs * 1000
    let waitedFor: DeadlinePhase = 'total'
    if (this.#phase === 'head' && this.#startedAt + firstByteTimeoutMs * 1000 < at) {
      at = this.#startedAt + firstByteTimeoutMs * 1000
      waitedFor = 'first-byte'
    }
    if (this.#phase === 'body' && this.#progressAt + noProgressTimeoutMs * 1000 < at) {
      at = this.#progressAt + noProgressTimeoutMs * 1000
      waitedFor = 'no-progress'
    }
    if (this.#phase === 'body' && this.#byteAt !== undefined && this.#byteAt + idleTimeoutMs * 1000 < at) {
      at = this.#byteAt + idleTimeoutMs * 1000
      waitedFor = 'idle'
    }
    return { at, waitedFor }
  }

  /** Whether a chunk is only comments and blanks, which servers send while they produce nothing. */
  #isKeepAlive(chunk: Buffer): boolean {
    for (let at = 0; at < chunk.length; at++) {
      if (this.#line === 'start') this.#line = lineFrom(chunk, at)
      if (this.#line === 'start') return true
      if (this.#line === 'data') {
        const last = chunk.lastIndexOf(LINE_FEED)
        if (last >= at) this.#line = lineFrom(chunk, last + 1)
        return false
      }
      const end = chunk.indexOf(LINE_FEED, at)
      if (end === -1) return true
      this.#line = 'start'
      at = end
    }
    return true
  }
}

const LINE_FEED = 0x0a
const COLON = 0x3a

type LineKind = 'start' | 'comment' | 'data'

/** The kind of the next line that is not blank. */
function lineFrom(chunk: Buffer, from: number): LineKind {
  for (let at = from; at < chunk.length; at++) {
    const byte = chunk[at]
    if (byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === LINE_FEED) continue
    return byte === COLON ? 'comment' : 'data'
  }
  return 'start'
}
