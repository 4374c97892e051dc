import type { UpstreamTimeouts } from '../catalog/catalog.ts'
import { afterLoopTurn } from '../lib/async.ts'
import type { Delivery } from '../model/turn.ts'

/** What a call was waiting for when its time was up. */
export type DeadlinePhase = 'connect' | 'first-byte' | 'idle' | 'no-progress' | 'total'

/** The time limits of one call. Bytes cost a reading of the clock; one timer checks the limits. */
export interface Deadlines {
  headArrived(): void
  bytesArrived(chunk: Buffer): void
  /** Backpressure: while the client does not read, the provider owes nothing. */
  pause(): void
  resume(): void
  stop(): void
}

/** A timer that is so late was not delayed by work: the process was suspended, or its machine was. */
const SUSPENDED_MICROS = 1_000_000

interface DeadlineTerms {
  readonly timeouts: UpstreamTimeouts
  readonly delivery: Delivery
  onExpired(phase: DeadlinePhase): void
}

/** `nowMicros` are monotonic microseconds. */
export function startDeadlines(deps: { readonly nowMicros: () => number }, terms: DeadlineTerms): Deadlines {
  const { timeouts, delivery } = terms
  const { idleMs, totalMs } = timeouts
  const isStream = delivery === 'stream'
  // A JSON answer may send nothing, or only blanks, for as long as a whole call. Once it has begun it has no reason to stop.
  const firstByteMs = isStream ? timeouts.firstByteMs : timeouts.jsonAnswerMs
  const noProgressMs = isStream ? timeouts.noProgressMs : totalMs
  // Checked so often, no deadline that begins after the timer was set is late, and the timer never has to be set again.
  const checkEveryMs = Math.min(firstByteMs, idleMs, noProgressMs)
  const isSignOfLife = createLifeSigns()
  let startedAt = deps.nowMicros()
  let phase: 'head' | 'body' | 'paused' = 'head'
  let byteAt: number | undefined
  let progressAt = startedAt
  let timer: NodeJS.Timeout | undefined
  let cancelExpiry: (() => void) | undefined
  let checkAt = startedAt

  const nearest = (): { at: number; waitedFor: DeadlinePhase } => {
    let at = startedAt + totalMs * 1000
    let waitedFor: DeadlinePhase = 'total'
    if (phase === 'head' && startedAt + firstByteMs * 1000 < at) {
      at = startedAt + firstByteMs * 1000
      waitedFor = 'first-byte'
    }
    if (phase === 'body' && progressAt + noProgressMs * 1000 < at) {
      at = progressAt + noProgressMs * 1000
      waitedFor = 'no-progress'
    }
    if (phase === 'body' && byteAt !== undefined && byteAt + idleMs * 1000 < at) {
      at = byteAt + idleMs * 1000
      waitedFor = 'idle'
    }
    return { at, waitedFor }
  }
  const checkLater = (now: number) => {
    const inMs = Math.min(checkEveryMs, Math.ceil((nearest().at - now) / 1000))
    checkAt = now + inMs * 1000
    timer = setTimeout(check, inMs)
  }
  const check = () => {
    const now = deps.nowMicros()
    // While the process was suspended, the total time stood still: it says nothing about the provider.
    if (now - checkAt > SUSPENDED_MICROS) startedAt += now - checkAt
    if (nearest().at > now) checkLater(now)
    else cancelExpiry = afterLoopTurn(expire)
  }
  /** Bytes that have arrived are read first. */
  const expire = () => {
    const now = deps.nowMicros()
    const { at, waitedFor } = nearest()
    if (at <= now) terms.onExpired(waitedFor)
    else checkLater(now)
  }
  checkLater(startedAt)

  return {
    headArrived() {
      phase = 'body'
      progressAt = deps.nowMicros()
      if (isStream) byteAt = progressAt
    },
    bytesArrived(chunk) {
      byteAt = deps.nowMicros()
      if (!isSignOfLife(chunk)) progressAt = byteAt
    },
    pause() {
      phase = 'paused'
    },
    resume() {
      phase = 'body'
      byteAt = deps.nowMicros()
      progressAt = byteAt
    },
    stop() {
      clearTimeout(timer)
      cancelExpiry?.()
    },
  }
}

const LINE_FEED = 0x0a
const COLON = 0x3a

/**
 * Whether a chunk is only comments and blanks, which servers send while they produce nothing. Nearly always the first byte tells;
 * where a chunk ends inside a line, the next one begins in it.
 */
export function createLifeSigns(): (chunk: Buffer) => boolean {
  let line: 'start' | 'comment' | 'data' = 'start'
  return (chunk) => {
    for (let at = 0; at < chunk.length; at++) {
      if (line === 'start') line = lineFrom(chunk, at)
      if (line === 'start') return true
      if (line === 'data') {
        const last = chunk.lastIndexOf(LINE_FEED)
        if (last >= at) line = lineFrom(chunk, last + 1)
        return false
      }
      const end = chunk.indexOf(LINE_FEED, at)
      if (end === -1) return true
      line = 'start'
      at = end
    }
    return true
  }
}

/** The kind of the next line that is not blank. */
function lineFrom(chunk: Buffer, from: number): 'start' | 'comment' | 'data' {
  for (let at = from; at < chunk.length; at++) {
    const byte = chunk[at]
    if (byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === LINE_FEED) continue
    return byte === COLON ? 'comment' : 'data'
  }
  return 'start'
}
