import type { Dispatcher } from 'undici'
import type { Upstream, UpstreamTimeouts } from '../catalog/catalog.ts'
import type { StopSignal } from '../lib/stop-signal.ts'
import type { Delivery } from '../model/turn.ts'
import { AddressRefused, refusalOfBaseUrl } from './address-guard.ts'
import { type DeadlinePhase, type Deadlines, startDeadlines } from './deadlines.ts'
import type { DemoUpstream } from './demo/demo-upstream.ts'
import type { OriginPools } from './origin-pools.ts'
import { headersFor, pathBehind, providerKindOf } from './provider-kinds.ts'
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

/** One call of a provider, already in the words of its wire. */
export interface UpstreamCall {
  readonly upstream: Upstream
  /** As the provider calls it: some have it in the path. */
  readonly model: string
  readonly body: Buffer
  /** What the body asks for: an answer in one piece may take as long to begin as to end. */
  readonly delivery: Delivery
  readonly signal: StopSignal
}

/** Asks a provider: the one primitive through which every byte to and from providers goes. */
export type Send = (call: UpstreamCall) => Promise<UpstreamOutcome>

interface SendDeps {
  readonly demo: DemoUpstream
  readonly pools: Pick<OriginPools, 'poolOf'>
  /** Monotonic microseconds. */
  readonly nowMicros: () => number
  readonly userAgent: string
}

/** The demo answers in this process; every other provider over the network. */
export function createSend(deps: SendDeps): Send {
  const targetOf = rememberTargets(deps.userAgent)
  return async ({ upstream, model, body, delivery, signal }) => {
    if (upstream.wire === 'demo') return deps.demo.answer(body, signal)
    const target = targetOf(upstream)
    if (target.kind === 'failed') return target
    const opened = deps.pools.poolOf(upstream)
    const pool = opened instanceof Promise ? await opened : opened
    if (signal.stopped)
      return {
        kind: 'failed',
        reason: 'cancelled',
        wasSent: false,
        message: `The call of ${upstream.id} was cancelled.`,
      }
    const { id: upstreamId, timeouts } = upstream
    const path = target.pathOf(model, delivery)
    const headers = target.headersOf(delivery, body)
    return new Promise((settle) => {
      const exchange = new ProviderExchange(deps, { upstreamId, timeouts, delivery, signal, settle })
      pool.dispatch({ path, method: 'POST', headers, body }, exchange)
    })
  }
}

/** What is the same for every call of an upstream. */
interface Target {
  readonly kind: 'target'
  readonly pathOf: (model: string, delivery: Delivery) => string
  readonly headersOf: (delivery: Delivery, body: Buffer) => string[]
}

function rememberTargets(userAgent: string): (upstream: Upstream) => Target | UpstreamFailed {
  const targets = new WeakMap<Upstream, Target | UpstreamFailed>()
  return (upstream) => {
    const known = targets.get(upstream)
    if (known !== undefined) return known
    const target = createTarget(upstream, userAgent)
    targets.set(upstream, target)
    return target
  }
}

function createTarget(upstream: Upstream, userAgent: string): Target | UpstreamFailed {
  const kind = providerKindOf(upstream)
  // The configuration refuses both: a wire without a network, and one on the network without an address.
  if (kind === undefined || upstream.baseUrl === undefined)
    throw new Error(`Upstream ${upstream.id} cannot be called: the configuration should have refused it`)
  const url = new URL(upstream.baseUrl)
  const refusal = refusalOfBaseUrl(url, upstream)
  if (refusal !== undefined)
    return {
      ...{ kind: 'failed', reason: 'not-sent', code: 'ADDRESS_REFUSED' },
      message: `The base_url of ${upstream.id} ${refusal}.`,
    }
  const headers: Readonly<Record<Delivery, string[]>> = {
    json: headersFor(upstream, kind, { delivery: 'json', userAgent }),
    stream: headersFor(upstream, kind, { delivery: 'stream', userAgent }),
  }
  const { headersOfCall } = kind
  return {
    kind: 'target',
    pathOf: (model, delivery) => pathBehind(url, kind, { model, delivery }),
    headersOf(delivery, body) {
      if (headersOfCall === undefined) return headers[delivery]
      const own = headersOfCall(body).filter(([name]) => !upstream.headers.has(name))
      return [...headers[delivery], ...own.flat()]
    },
  }
}

interface ExchangeTerms {
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
class ProviderExchange implements LibraryHandler, ChunkSource {
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

  constructor(deps: { readonly nowMicros: () => number }, terms: ExchangeTerms) {
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

interface FailedCall {
  readonly upstreamId: string
  /** Some of the request may have left. */
  readonly sent: boolean
}

/** What a failed call means. Messages of other people's errors hold addresses and more: only their codes are repeated. */
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
  // What took so long was the connection, whatever was to come after it.
  return sent ? error.phase : 'connect'
}

const BROKEN: Readonly<Record<string, string>> = {
  UND_ERR_HEADERS_OVERFLOW: ': its head is too large',
  HTTP_PARSER: ': what it answered is no HTTP',
  ANSWER_COMPRESSED: ': it compressed its answer, although it was asked not to',
}

const UNREACHED: Readonly<Record<string, string>> = {
  ECONNREFUSED: ': nothing listens there',
  ENOTFOUND: ': its name is not known',
  EAI_AGAIN: ': its name could not be looked up',
  ETIMEDOUT: ': the network gave no answer',
  EHOSTUNREACH: ': there is no way to it',
  ENETUNREACH: ': there is no way to it',
  UND_ERR_DESTROYED: ': this server is stopping',
  UND_ERR_CLOSED: ': this server is stopping',
}

const reachedWords = (code: string): string =>
  UNREACHED[code] ?? (/CERT|TLS|SSL|SIGNATURE|ISSUER|EPROTO/.test(code) ? ': the secure connection failed' : '')

/** Of the error or of what it gathers: trying several addresses fails with one error for each. */
function codeOf(error: Error): string {
  // The library has a code for it in its sources, and loses it on the way.
  if (error.name === 'HTTPParserError') return 'HTTP_PARSER'
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code) ? code : 'no code'
}
