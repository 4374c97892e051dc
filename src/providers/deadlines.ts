import type { UpstreamTimeouts } from '../catalog/catalog.ts'
import { afterLoopTurn } from '../lib/async.ts'
import type { Delivery } from '../model/turn.ts'

/** What a call was waiting for when its time was up. */
export type DeadlinePhase = 'connect' | 'first-byte' | 'idle' | 'no-progress' | 'total'

/** The time limits of one running call. Bytes cost a reading of the clock; there is one timer, which looks after them. */
export interface Deadlines {
  /** From here on it is bytes that are waited for. */
  headArrived(): void
  bytesArrived(chunk: Buffer): void
  /** While nobody takes what has come, the provider owes nothing. */
  pause(): void
  resume(): void
  stop(): void
}

/**
 * A provider that answers in one piece says nothing until it is done, or only blanks, which may take as long as a whole
 * call. Once it has begun with its answer it has no reason to stop.
 */
function limitsFor(timeouts: UpstreamTimeouts, delivery: Delivery) {
  const { firstByteMs, jsonAnswerMs, idleMs, noProgressMs, totalMs } = timeouts
  return delivery === 'stream'
    ? { firstByteMs, idleMs, noProgressMs, totalMs, idleFromHead: true }
    : { firstByteMs: jsonAnswerMs, idleMs, noProgressMs: totalMs, totalMs, idleFromHead: false }
}

/** A timer that is so late was not held up by work: the process was stopped, or its machine was. */
const STOPPED_MICROS = 1_000_000

interface DeadlineTerms {
  readonly timeouts: UpstreamTimeouts
  readonly delivery: Delivery
  onExpired(phase: DeadlinePhase): void
}

/** `nowMicros` are monotonic microseconds. */
export function startDeadlines(deps: { readonly nowMicros: () => number }, terms: DeadlineTerms): Deadlines {
  const limits = limitsFor(terms.timeouts, terms.delivery)
  // Looking this often, the timer is never late for a deadline that began after it was set, and so is never set anew.
  const lookEveryMs = Math.min(limits.firstByteMs, limits.idleMs, limits.noProgressMs)
  const isSignOfLife = createLifeSigns()
  let startedAt = deps.nowMicros()
  let phase: 'head' | 'body' | 'paused' = 'head'
  let byteAt: number | undefined
  let progressAt = startedAt
  let timer: NodeJS.Timeout | undefined
  let lookAt = startedAt
  let stopLooking = () => clearTimeout(timer)

  const nearest = (): { at: number; waitedFor: DeadlinePhase } => {
    let at = startedAt + limits.totalMs * 1000
    let waitedFor: DeadlinePhase = 'total'
    const consider = (from: number | undefined, ms: number, candidate: DeadlinePhase) => {
      if (from === undefined || from + ms * 1000 >= at) return
      at = from + ms * 1000
      waitedFor = candidate
    }
    if (phase === 'head') consider(startedAt, limits.firstByteMs, 'first-byte')
    if (phase === 'body') {
      consider(progressAt, limits.noProgressMs, 'no-progress')
      consider(byteAt, limits.idleMs, 'idle')
    }
    return { at, waitedFor }
  }
  const look = () => {
    const now = deps.nowMicros()
    // Where the process was stopped, the time of the whole call stood still with it: it says nothing about the provider.
    if (now - lookAt > STOPPED_MICROS) startedAt += now - lookAt
    if (nearest().at > now) lookAgain(now)
    else stopLooking = afterLoopTurn(expireOrGoOn)
  }
  /** A deadline counts when what has arrived before it was read. */
  const expireOrGoOn = () => {
    const now = deps.nowMicros()
    const { at, waitedFor } = nearest()
    if (at <= now) terms.onExpired(waitedFor)
    else lookAgain(now)
  }
  const lookAgain = (now: number) => {
    const inMs = Math.min(lookEveryMs, Math.ceil((nearest().at - now) / 1000))
    lookAt = now + inMs * 1000
    timer = setTimeout(look, inMs)
    stopLooking = () => clearTimeout(timer)
  }
  look()

  return {
    headArrived() {
      phase = 'body'
      progressAt = deps.nowMicros()
      if (limits.idleFromHead) byteAt = progressAt
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
    stop: () => stopLooking(),
  }
}

const LINE_FEED = 0x0a
const COLON = 0x3a

/** Tells chunk by chunk whether there was more in it than a sign of life, however the network cut the lines. */
type IsSignOfLife = (chunk: Buffer) => boolean

/**
 * Comments and blanks only: what servers send while they have nothing to say. Nearly always the first byte tells; where a
 * chunk ends inside a line, the next one begins in it.
 */
export function createLifeSigns(): IsSignOfLife {
  let line: 'start' | 'comment' | 'words' = 'start'
  return (chunk) => {
    for (let at = 0; at < chunk.length; at++) {
      if (line === 'start') line = lineFrom(chunk, at)
      if (line === 'start') return true
      if (line === 'words') {
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

/** What the first line with anything in it is, from here on. */
function lineFrom(chunk: Buffer, from: number): 'start' | 'comment' | 'words' {
  for (let at = from; at < chunk.length; at++) {
    const byte = chunk[at]
    if (byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === LINE_FEED) continue
    return byte === COLON ? 'comment' : 'words'
  }
  return 'start'
}
