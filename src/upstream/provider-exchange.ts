import type { Dispatcher } from 'undici'
import type { UpstreamTimeouts } from '../catalog/catalog.ts'
import type { StopSignal } from '../lib/stop-signal.ts'
import type { Delivery } from '../model/turn.ts'
import { type ChunkQueue, type ChunkSource, createChunkQueue } from './chunk-queue.ts'
import { type DeadlinePhase, type Deadlines, startDeadlines } from './deadlines.ts'
import { describeFailure } from './describe-failure.ts'
import { readHead } from './read-head.ts'
import {
  UpstreamBrokenOff,
  UpstreamCancelled,
  type UpstreamOutcome,
  UpstreamRedirected,
  UpstreamTimedOut,
} from './upstream-answer.ts'

export interface ExchangeTerms {
  readonly upstreamId: string
  readonly timeouts: UpstreamTimeouts
  readonly delivery: Delivery
  readonly signal: StopSignal
  /** Told what came of the call as soon as that is known: of an answer its head, before its body. */
  readonly settle: (outcome: UpstreamOutcome) => void
}

/**
 * Beyond, the provider's socket is not read. One read of it is 64 KiB at most, and what is left of one that was paused in
 * shares its memory: so a client that does not read costs one read here, one at the socket and one that it was written.
 */
const QUEUE_BOUNDS = { awaitedMax: 64 * 1024, unawaitedMax: 16 * 1024 }
/** An end that is near comes within this; else the connection is not worth keeping. */
const RELEASE_MS = 1000
const RELEASE_BYTES_MAX = 64 * 1024

type LibraryHandler = Required<
  Pick<Dispatcher.DispatchHandler, 'onConnect' | 'onHeaders' | 'onData' | 'onComplete' | 'onError'>
>

/**
 * One call between its two ends. To the library it is a handler, in the older shape, which is the one that is served without
 * wrapping every event; to whoever reads the answer it is the source of the queue.
 */
export class ProviderExchange implements LibraryHandler, ChunkSource {
  readonly #upstreamId: string
  readonly #settle: (outcome: UpstreamOutcome) => void
  readonly #deadlines: Deadlines
  readonly #forgetSignal: () => void
  /** Nothing of the call is under way any more. */
  #isOver = false
  /** Cuts the connection. As soon as there is one, something of the request may have left. */
  #cut: ((error: Error) => void) | undefined
  /** What has come of the answer, once it has begun. */
  #queue: ChunkQueue | undefined
  #isPaused = false
  #goOn: () => void = () => {}
  /** How much may still come of an answer that nobody wants any more. */
  #releasedBytesLeft: number | undefined
  #releaseTimer: NodeJS.Timeout | undefined

  constructor(deps: { readonly ticks: () => number }, terms: ExchangeTerms) {
    const { upstreamId, timeouts, delivery, signal, settle } = terms
    this.#upstreamId = upstreamId
    this.#settle = settle
    const onExpired = (phase: DeadlinePhase) => this.#stop(new UpstreamTimedOut(phase))
    this.#deadlines = startDeadlines(deps, { timeouts, delivery, onExpired })
    this.#forgetSignal = signal.onStop(() => this.cancel())
  }

  onConnect(abort: (error?: Error) => void): void {
    // Thrown, and not aborted: that would cost the connection, which is as good as new.
    if (this.#isOver) throw new UpstreamCancelled('The call was cancelled before there was a connection.')
    this.#cut = abort
  }

  onHeaders(status: number, raw: readonly Buffer[], resume: () => void): boolean {
    if (status < 200) return true
    const headers = readHead(raw)
    const refusal = refusalOf(status, headers)
    if (refusal !== undefined) {
      this.#stop(refusal)
      return true
    }
    this.#goOn = resume
    this.#deadlines.headArrived()
    this.#queue = createChunkQueue(this, QUEUE_BOUNDS)
    this.#settle({ kind: 'answer', status, headers, body: this.#queue.body })
    return true
  }

  /** False for no more until `resume`. */
  onData(chunk: Buffer): boolean {
    if (this.#releasedBytesLeft !== undefined) {
      this.#releasedBytesLeft -= chunk.length
      if (this.#releasedBytesLeft < 0) this.cancel()
      return true
    }
    // The library only looks on, for the end of an answer that was paused.
    if (chunk.length === 0) return true
    this.#deadlines.bytesArrived(chunk)
    this.#queue?.push(chunk)
    return !this.#isPaused
  }

  onComplete(): void {
    if (this.#isOver) return
    this.#leave()
    this.#queue?.end()
  }

  onError(error: Error): void {
    if (this.#isOver) return
    this.#leave()
    if (this.#queue !== undefined) this.#queue.fail(asBodyError(error))
    else this.#settle(describeFailure(error, { upstreamId: this.#upstreamId, sent: this.#cut !== undefined }))
  }

  pause(): void {
    this.#isPaused = true
    this.#deadlines.pause()
  }

  resume(): void {
    this.#isPaused = false
    if (this.#isOver) return
    this.#deadlines.resume()
    this.#goOn()
  }

  cancel(): void {
    this.#stop(new UpstreamCancelled('The call was cancelled.'))
  }

  release(): void {
    if (this.#isOver) return
    this.#releasedBytesLeft = RELEASE_BYTES_MAX
    this.#releaseTimer = setTimeout(() => this.cancel(), RELEASE_MS)
  }

  /** Ends the call from our side. While there is no connection there is nothing to cut; `onConnect` sees that it is over. */
  #stop(error: Error): void {
    if (this.#isOver) return
    this.onError(error)
    this.#cut?.(error)
  }

  #leave(): void {
    this.#isOver = true
    this.#deadlines.stop()
    clearTimeout(this.#releaseTimer)
    this.#forgetSignal()
  }
}

/** Answers that are none: a redirect could lead anywhere, and what was compressed against our word is not unpacked. */
function refusalOf(status: number, head: Record<string, string>): Error | undefined {
  if (status < 400 && status >= 300) return new UpstreamRedirected('The provider answered with a redirect.')
  const coding = head['content-encoding']?.trim().toLowerCase() ?? ''
  if (coding === '' || coding === 'identity') return undefined
  return Object.assign(new UpstreamBrokenOff('The provider compressed its answer.'), { code: 'ANSWER_COMPRESSED' })
}

function asBodyError(error: Error): Error {
  const isOurs = error instanceof UpstreamTimedOut || error instanceof UpstreamCancelled
  if (isOurs || error instanceof UpstreamBrokenOff) return error
  return new UpstreamBrokenOff('The connection to the provider ended before its answer did.', { cause: error })
}
