import type { Dispatcher } from 'undici'
import type { Upstream } from '../catalog/catalog.ts'
import type { StopSignal } from '../lib/async.ts'
import type { Delivery } from '../model/turn.ts'
import { AddressRefused, refusalOfBaseUrl } from './address-guard.ts'
import { type DeadlinePhase, type Deadlines, startDeadlines } from './deadlines.ts'
import type { DemoUpstream } from './demo/demo-upstream.ts'
import type { OriginPools } from './origin-pools.ts'
import { headersFor, type ProviderKind, pathBehind, providerKindOf } from './provider-kinds.ts'
import {
  type ChunkQueue,
  type ChunkSource,
  createChunkQueue,
  UpstreamBrokenOff,
  UpstreamCancelled,
  type UpstreamFailed,
  type UpstreamOutcome,
  UpstreamRedirected,
  UpstreamTimedOut,
} from './upstream-answer.ts'

/** One call of a provider. */
export interface UpstreamCall {
  readonly upstream: Upstream
  /** The provider's name of the model: some have it in the path. */
  readonly model: string
  /** In the protocol of the provider. */
  readonly body: Buffer
  /** What the body asks for. */
  readonly delivery: Delivery
  readonly signal: StopSignal
}

/** Calls a provider: the one primitive through which every byte to and from providers goes. */
export type Send = (call: UpstreamCall) => Promise<UpstreamOutcome>

interface SendServices {
  readonly demo: DemoUpstream
  readonly pools: Pick<OriginPools, 'poolOf'>
  /** Monotonic microseconds. */
  readonly nowMicros: () => number
  readonly userAgent: string
}

/** The demo answers in this process; every other provider over the network. */
export function createSend(services: SendServices): Send {
  const { demo, pools, nowMicros, userAgent } = services
  const targets = new WeakMap<Upstream, Target | UpstreamFailed>()
  return async ({ upstream, model, body, delivery, signal }) => {
    if (upstream.wire === 'demo') return demo.answer(body, signal)
    const target = targets.get(upstream) ?? createTarget(upstream, userAgent)
    targets.set(upstream, target)
    if (target.kind === 'failed') return target
    const opened = pools.poolOf(upstream)
    const pool = opened instanceof Promise ? await opened : opened
    if (signal.stopped)
      return { ...failed('cancelled', `The call of ${upstream.id} was cancelled.`), wasSent: false } as const
    let path = target.paths[delivery].get(model)
    if (path === undefined) {
      path = pathBehind(target.url, target.providerKind, { model, delivery })
      target.paths[delivery].set(model, path)
    }
    let headers = target.headers[delivery]
    const { headersOfCall } = target.providerKind
    if (headersOfCall !== undefined) {
      const own = headersOfCall(body).filter(([name]) => !upstream.headers.has(name))
      headers = [...headers, ...own.flat()]
    }
    return new Promise((settle) => {
      const exchange = new ProviderExchange(nowMicros, { upstream, delivery, signal, settle })
      pool.dispatch({ path, method: 'POST', headers, body }, exchange)
    })
  }
}

/** What all calls of an upstream have in common. */
interface Target {
  readonly kind: 'target'
  readonly url: URL
  readonly providerKind: ProviderKind
  /** By the provider's name of the model: as many as the configuration names. */
  readonly paths: Readonly<Record<Delivery, Map<string, string>>>
  readonly headers: Readonly<Record<Delivery, string[]>>
}

function createTarget(upstream: Upstream, userAgent: string): Target | UpstreamFailed {
  const providerKind = providerKindOf(upstream)
  if (providerKind === undefined || upstream.baseUrl === undefined)
    throw new Error(`Upstream ${upstream.id} cannot be called: the configuration should have refused it`)
  const url = new URL(upstream.baseUrl)
  const refusal = refusalOfBaseUrl(url, upstream)
  if (refusal !== undefined)
    return { ...failed('not-sent', `The base_url of ${upstream.id} ${refusal}.`), code: 'ADDRESS_REFUSED' }
  return {
    kind: 'target',
    url,
    providerKind,
    paths: { json: new Map(), stream: new Map() },
    headers: {
      json: headersFor(upstream, providerKind, { delivery: 'json', userAgent }),
      stream: headersFor(upstream, providerKind, { delivery: 'stream', userAgent }),
    },
  }
}

interface ExchangeTerms {
  readonly upstream: Upstream
  readonly delivery: Delivery
  readonly signal: StopSignal
  /** Gets the failure, or the answer as soon as its head has arrived. */
  readonly settle: (outcome: UpstreamOutcome) => void
}

/**
 * Backpressure: beyond these bounds the provider's socket is not read. One read of it is 64 KiB at most, and what is left of a
 * paused read shares its memory: a client that does not read costs one read here, one at the socket and one that it was written.
 */
const QUEUE_BOUNDS = { awaitedMax: 64 * 1024, unawaitedMax: 16 * 1024 }
/** An end that is near comes within this; else the connection is not worth keeping. */
const RELEASE_MS = 1000
const RELEASE_BYTES_MAX = 64 * 1024

type UndiciHandler = Required<
  Pick<Dispatcher.DispatchHandler, 'onConnect' | 'onHeaders' | 'onData' | 'onComplete' | 'onError'>
>

/**
 * One call between its two ends. To undici it is a handler of the older shape, which undici serves without wrapping every event;
 * to the reader of the answer it is the source of the queue.
 */
class ProviderExchange implements UndiciHandler, ChunkSource {
  readonly #upstream: Upstream
  readonly #settle: (outcome: UpstreamOutcome) => void
  readonly #deadlines: Deadlines
  readonly #stopListening: () => void
  #isOver = false
  /** Cuts the connection. Once there is one, part of the request may have been sent. */
  #cut: ((error: Error) => void) | undefined
  /** Set with the head of the answer. */
  #queue: ChunkQueue | undefined
  #isPaused = false
  #resumeSocket: (() => void) | undefined
  /** How much may still come of a released answer. */
  #releasedBytesLeft: number | undefined
  #releaseTimer: NodeJS.Timeout | undefined

  constructor(nowMicros: () => number, { upstream, delivery, signal, settle }: ExchangeTerms) {
    this.#upstream = upstream
    this.#settle = settle
    const onExpired = (phase: DeadlinePhase) => this.#stop(new UpstreamTimedOut(phase))
    this.#deadlines = startDeadlines({ nowMicros }, { timeouts: upstream.timeouts, delivery, onExpired })
    this.#stopListening = signal.onStop(() => this.cancel())
  }

  onConnect(abort: (error?: Error) => void): void {
    // Thrown instead of aborted, which would cost the new connection.
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
    this.#resumeSocket = resume
    this.#deadlines.headArrived()
    this.#queue = createChunkQueue(this, QUEUE_BOUNDS)
    this.#settle({ kind: 'answer', status, headers, body: this.#queue.body })
    return true
  }

  /** False pauses the socket until `resume`. */
  onData(chunk: Buffer): boolean {
    if (this.#releasedBytesLeft !== undefined) {
      this.#releasedBytesLeft -= chunk.length
      if (this.#releasedBytesLeft < 0) this.cancel()
      return true
    }
    // The resumed parser looks for the end of a paused answer.
    if (chunk.length === 0) return true
    this.#deadlines.bytesArrived(chunk)
    this.#queue?.push(chunk)
    return !this.#isPaused
  }

  onComplete(): void {
    if (this.#isOver) return
    this.#close()
    this.#queue?.end()
  }

  onError(error: Error): void {
    if (this.#isOver) return
    this.#close()
    if (this.#queue !== undefined) this.#queue.fail(asBodyError(error))
    else this.#settle(describeFailure(error, { upstreamId: this.#upstream.id, sent: this.#cut !== undefined }))
  }

  pause(): void {
    this.#isPaused = true
    this.#deadlines.pause()
  }

  resume(): void {
    this.#isPaused = false
    if (this.#isOver) return
    this.#deadlines.resume()
    this.#resumeSocket?.()
  }

  cancel(): void {
    this.#stop(new UpstreamCancelled('The call was cancelled.'))
  }

  release(): void {
    if (this.#isOver) return
    this.#releasedBytesLeft = RELEASE_BYTES_MAX
    this.#releaseTimer = setTimeout(() => this.cancel(), RELEASE_MS)
  }

  /** Ends the call from our side. Before there is a connection there is nothing to cut: `onConnect` checks `#isOver`. */
  #stop(error: Error): void {
    if (this.#isOver) return
    this.onError(error)
    this.#cut?.(error)
  }

  #close(): void {
    this.#isOver = true
    this.#deadlines.stop()
    clearTimeout(this.#releaseTimer)
    this.#stopListening()
  }
}

/** A redirect could lead anywhere, and an answer that was compressed although we asked for none is not decompressed. */
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

/** The other headers, of which there are about thirty, are not decoded. */
const WANTED = ['content-type', 'content-encoding', 'retry-after', 'retry-after-ms', 'x-should-retry', 'x-request-id']

const LENGTHS = new Set(WANTED.map((name) => name.length))
const NAMES = new Set(WANTED)

/** `raw` holds names and values in turn. A repeated header becomes one list. */
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

interface FailedCall {
  readonly upstreamId: string
  /** Part of the request may have been sent. */
  readonly sent: boolean
}

/** Error messages of libraries contain addresses and more: only their codes are repeated. */
function describeFailure(error: Error, { upstreamId, sent }: FailedCall): UpstreamFailed {
  if (error instanceof UpstreamCancelled)
    return { ...failed('cancelled', `The call of ${upstreamId} was cancelled.`), ...(sent ? {} : { wasSent: false }) }
  if (error instanceof UpstreamRedirected)
    return failed('redirected', `${upstreamId} answered with a redirect, which is not followed: check its base_url.`)
  const expired = expiredPhase(error, sent)
  if (expired !== undefined)
    return { ...failed('timeout', `${upstreamId} was too slow: its ${expired} timeout passed.`), expired }
  const code = codeOf(error)
  if (error instanceof AddressRefused) return { ...failed('not-sent', `${error.message}.`), code }
  const failure = sent
    ? failed('broken-off', `${upstreamId} took the request and broke off${BROKEN[code] ?? ''} (${code}).`)
    : failed('not-sent', `${upstreamId} could not be reached${reachedWords(code)} (${code}).`)
  return { ...failure, code }
}

const failed = (reason: UpstreamFailed['reason'], message: string): UpstreamFailed => ({
  kind: 'failed',
  reason,
  message,
})

function expiredPhase(error: Error, sent: boolean) {
  if (codeOf(error) === 'UND_ERR_CONNECT_TIMEOUT') return 'connect'
  if (!(error instanceof UpstreamTimedOut)) return undefined
  // Without a connection, connecting took so long.
  return sent ? error.phase : 'connect'
}

const BROKEN: Readonly<Record<string, string>> = {
  UND_ERR_HEADERS_OVERFLOW: ': its head is too large',
  HTTP_PARSER: ': its answer is not HTTP',
  ANSWER_COMPRESSED: ': it compressed its answer, although it was asked not to',
}

const UNREACHED: Readonly<Record<string, string>> = {
  ECONNREFUSED: ': nothing listens there',
  ENOTFOUND: ': its name is not known',
  EAI_AGAIN: ': its name could not be looked up',
  ETIMEDOUT: ': the network gave no answer',
  EHOSTUNREACH: ': no route to it',
  ENETUNREACH: ': no route to it',
  UND_ERR_DESTROYED: ': this server is stopping',
  UND_ERR_CLOSED: ': this server is stopping',
}

const reachedWords = (code: string): string =>
  UNREACHED[code] ?? (/CERT|TLS|SSL|SIGNATURE|ISSUER|EPROTO/.test(code) ? ': the secure connection failed' : '')

function codeOf(error: Error): string {
  // undici loses the code of this error.
  if (error.name === 'HTTPParserError') return 'HTTP_PARSER'
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code) ? code : 'no code'
}
