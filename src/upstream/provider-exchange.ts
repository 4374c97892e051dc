import type { Dispatcher } from 'undici'
import type { UpstreamTimeouts } from '../catalog/catalog.ts'
import type { StopSignal } from '../lib/stop-signal.ts'
import type { Delivery } from '../model/turn.ts'
import { type ChunkQueue, createChunkQueue } from './chunk-queue.ts'
import { startDeadlines } from './deadlines.ts'
import { describeFailure } from './describe-failure.ts'
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
}

/**
 * Beyond, the provider's socket is not read. One read of it is 64 KiB at most, and what is left of one that was paused in
 * shares its memory: so a client that does not read costs one read here, one at the socket and one that it was written.
 */
const QUEUE_BOUNDS = { awaitedMax: 64 * 1024, unawaitedMax: 16 * 1024 }
/** An end that is near comes within this; else the connection is not worth keeping. */
const RELEASE_MS = 1000
const RELEASE_BYTES_MAX = 64 * 1024

/**
 * One call between its two ends: what the library reports becomes an outcome and a queue of chunks. The handler has the
 * library's older shape, which is the one that it serves without wrapping every event.
 */
export function createExchange(deps: { readonly ticks: () => number }, terms: ExchangeTerms) {
  let settle: (outcome: UpstreamOutcome) => void
  const outcome = new Promise<UpstreamOutcome>((resolve) => {
    settle = resolve
  })
  let over = false
  let sent = false
  let paused = false
  let queue: ChunkQueue | undefined
  let cut: ((error: Error) => void) | undefined
  let goOn = () => {}
  let releasedBytes: number | undefined
  let releaseTimer: NodeJS.Timeout | undefined

  const deadlines = startDeadlines(deps, { ...terms, onExpired: (phase) => stop(new UpstreamTimedOut(phase)) })
  const cancel = () => stop(new UpstreamCancelled('The call was cancelled.'))
  const forgetSignal = terms.signal.onStop(cancel)

  const leave = () => {
    over = true
    deadlines.stop()
    clearTimeout(releaseTimer)
    forgetSignal()
  }
  const fail = (error: Error) => {
    if (over) return
    leave()
    if (queue === undefined) settle(describeFailure(error, { upstreamId: terms.upstreamId, sent }))
    else queue.fail(asBodyError(error))
  }
  /** Ends the call from our side. While there is no connection there is nothing to cut; `onConnect` sees that it is over. */
  const stop = (error: Error) => {
    if (over) return
    fail(error)
    cut?.(error)
  }
  const answer = (status: number, head: Record<string, string>) => {
    queue = createChunkQueue(
      {
        pause() {
          paused = true
          deadlines.pause()
        },
        resume() {
          paused = false
          if (over) return
          deadlines.resume()
          goOn()
        },
        cancel,
        release() {
          if (over) return
          releasedBytes = 0
          releaseTimer = setTimeout(cancel, RELEASE_MS)
        },
      },
      QUEUE_BOUNDS,
    )
    settle({ kind: 'answer', status, headers: head, body: queue.body })
  }

  const handler: Required<Pick<Dispatcher.DispatchHandler, LegacyEvent>> = {
    onConnect(abort) {
      // Thrown, and not aborted: that would cost the connection, which is as good as new.
      if (over) throw new UpstreamCancelled('The call was cancelled before there was a connection.')
      sent = true
      cut = abort
    },
    onHeaders(status, raw, resume) {
      if (status < 200) return true
      const head = readHead(raw)
      const refusal = refusalOf(status, head)
      if (refusal !== undefined) stop(refusal)
      else {
        goOn = resume
        deadlines.headArrived()
        answer(status, head)
      }
      return true
    },
    onData(chunk) {
      if (releasedBytes !== undefined) {
        releasedBytes += chunk.length
        if (releasedBytes > RELEASE_BYTES_MAX) cancel()
        return true
      }
      deadlines.bytesArrived(chunk)
      queue?.push(chunk)
      return !paused
    },
    onComplete() {
      if (over) return
      leave()
      queue?.end()
    },
    onError: fail,
  }
  return { handler, outcome }
}

type LegacyEvent = 'onConnect' | 'onHeaders' | 'onData' | 'onComplete' | 'onError'

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

/** Headers of an answer that somebody reads. The rest is not even decoded: a head has thirty and we want four. */
const WANTED = ['content-type', 'content-encoding', 'retry-after', 'retry-after-ms', 'x-should-retry', 'x-request-id']

const LENGTHS = new Set(WANTED.map((name) => name.length))
const NAMES = new Set(WANTED)

/** From names and values in turn, as bytes, to what is wanted of them. A repeated header is one list. */
function readHead(raw: readonly Buffer[]): Record<string, string> {
  const head: Record<string, string> = {}
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const bytes = raw[at]!
    if (!LENGTHS.has(bytes.length)) continue
    const name = bytes.toString('latin1').toLowerCase()
    if (!NAMES.has(name)) continue
    const value = raw[at + 1]!.toString('latin1')
    const earlier = head[name]
    head[name] = earlier === undefined ? value : `${earlier}, ${value}`
  }
  return head
}
