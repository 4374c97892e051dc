import type { Dispatcher } from 'undici'
import type { Upstream } from '../catalog/catalog.ts'
import type { StopSignal } from '../lib/async.ts'
import type { Delivery } from '../model/turn.ts'
import type { ProviderEndpoint } from '../protocols/shared/codec-types.ts'
import { AddressRefused, refusalOfBaseUrl } from './address-guard.ts'
import { Deadlines, type TimeLimits, timeLimitsOf } from './deadlines.ts'
import type { DemoUpstream } from './demo/demo-upstream.ts'
import type { OriginPools } from './origin-pools.ts'
import { headersFor, pathBehind, providerEndpointOf } from './provider-endpoints.ts'
import {
  type UpstreamBody,
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
  /** The trace of the call: names and values by turns. */
  readonly traceHeaders?: readonly string[] | undefined
  /** Asks for the list of models instead. The body is not sent. */
  readonly lists?: boolean
}

/** Providers list a page of few models without it. */
const LIST_QUERY: Readonly<Partial<Record<Upstream['wire'], string>>> = {
  anthropic: '?limit=1000',
  gemini: '?pageSize=1000',
}

/** Calls a provider: the one primitive through which every byte to and from providers goes. */
export type Send = (call: UpstreamCall) => Promise<UpstreamOutcome>

interface SendServices {
  readonly demo: DemoUpstream
  readonly pools: Pick<OriginPools, 'opened' | 'open'>
  /** Monotonic microseconds. */
  readonly nowMicros: () => number
  readonly userAgent: string
}

/** The demo answers in this process; every other provider over the network. */
export function createSend(services: SendServices): Send {
  const { demo, pools, nowMicros, userAgent } = services
  const targets = new WeakMap<Upstream, Target | UpstreamFailed>()
  return async ({ upstream, model, body, delivery, signal, traceHeaders, lists = false }) => {
    if (upstream.wire === 'demo') return demo.answer(body, signal)
    const target = targets.get(upstream) ?? createTarget(upstream, userAgent)
    targets.set(upstream, target)
    if (target.kind === 'failed') return target
    const opened = pools.opened.get(upstream) ?? pools.open(upstream)
    const pool = opened instanceof Promise ? await opened : opened
    if (signal.stopped)
      return { ...failedCall('cancelled', `The call of ${upstream.id} was cancelled.`), wasSent: false } as const
    let path = target.paths[delivery].get(model)
    if (path === undefined) {
      path = pathBehind(target.url, target.endpoint, { model, delivery })
      target.paths[delivery].set(model, path)
    }
    let headers = target.headers[delivery]
    const { headersOfCall } = target.endpoint
    if (headersOfCall !== undefined) {
      const own = headersOfCall(body).filter(([name]) => !upstream.headers.has(name))
      headers = [...headers, ...own.flat()]
    }
    if (traceHeaders !== undefined) headers = [...headers, ...traceHeaders]
    return new Promise((settle) => {
      const exchange = new ProviderExchange(nowMicros, { upstream, limits: target.limits[delivery], signal, settle })
      if (!lists) pool.dispatch({ path, method: 'POST', headers, body }, exchange)
      else {
        const listed = `${target.url.pathname.replace(/\/+$/, '')}/models${LIST_QUERY[upstream.wire] ?? ''}`
        pool.dispatch({ path: listed, method: 'GET', headers }, exchange)
      }
    })
  }
}

/** What all calls of an upstream have in common. */
interface Target {
  readonly kind: 'target'
  readonly url: URL
  readonly endpoint: ProviderEndpoint
  /** By the provider's name of the model: as many as the configuration names. */
  readonly paths: Readonly<Record<Delivery, Map<string, string>>>
  readonly headers: Readonly<Record<Delivery, string[]>>
  readonly limits: Readonly<Record<Delivery, TimeLimits>>
}

function createTarget(upstream: Upstream, userAgent: string): Target | UpstreamFailed {
  const endpoint = providerEndpointOf(upstream)
  if (endpoint === undefined || upstream.baseUrl === undefined)
    throw new Error(`Upstream ${upstream.id} cannot be called: the configuration should have refused it`)
  const url = new URL(upstream.baseUrl)
  const refusal = refusalOfBaseUrl(url, upstream)
  if (refusal !== undefined)
    return { ...failedCall('not-sent', `The base_url of ${upstream.id} ${refusal}.`), code: 'ADDRESS_REFUSED' }
  return {
    kind: 'target',
    url,
    endpoint,
    paths: { json: new Map(), stream: new Map() },
    headers: {
      json: headersFor(upstream, endpoint, { delivery: 'json', userAgent }),
      stream: headersFor(upstream, endpoint, { delivery: 'stream', userAgent }),
    },
    limits: { json: timeLimitsOf(upstream.timeouts, 'json'), stream: timeLimitsOf(upstream.timeouts, 'stream') },
  }
}

interface ExchangeTerms {
  readonly upstream: Pick<Upstream, 'id'>
  readonly limits: TimeLimits
  readonly signal: StopSignal
  /** Gets the failure, or the answer as soon as its head has arrived. */
  readonly settle: (outcome: UpstreamOutcome) => void
}

/**
 * Backpressure: beyond these bounds the provider's socket is not read. One read of it is 64 KiB at most, and what is left of a
 * paused read shares its memory: a client that does not read costs one read here, one at the socket and one that it was written.
 * A waiting reader takes everything at once; without one the chunks stay in memory as long as the client does not read.
 */
const AWAITED_BYTES_MAX = 64 * 1024
const UNAWAITED_BYTES_MAX = 16 * 1024
/** An end that is near comes within this; else the connection is not worth keeping. */
const RELEASE_MS = 1000
const RELEASE_BYTES_MAX = 64 * 1024

type UndiciHandler = Required<
  Pick<Dispatcher.DispatchHandler, 'onConnect' | 'onHeaders' | 'onData' | 'onComplete' | 'onError'>
>

interface WaitingReader {
  resolve(chunks: readonly Buffer[]): void
  reject(error: Error): void
}

/**
 * One call. undici pushes into it, through its older handler interface, which needs no wrapper around each event; the turn pulls from it
 * as the body of the answer.
 */
export class ProviderExchange implements UndiciHandler, UpstreamBody {
  readonly #upstreamId: string
  readonly #settle: (outcome: UpstreamOutcome) => void
  readonly #deadlines: Deadlines
  readonly #signal: StopSignal
  #state: 'open' | 'ended' | Error
  /** Aborts the request in undici. Once there is a connection, part of the request may have been sent. */
  #abort: ((error: Error) => void) | undefined
  /** Set with the head of the answer. */
  #resumeSocket: (() => void) | undefined
  /** What has arrived and was not read. */
  #chunks: Buffer[]
  #bytes: number
  #isPaused: boolean
  #reader: WaitingReader | undefined
  /** The reader gets its chunks once the parser has returned. */
  #isGathering: boolean
  /** How much may still come of a released answer. */
  #releasedBytesLeft: number | undefined
  #releaseTimer: NodeJS.Timeout | undefined

  constructor(nowMicros: () => number, { upstream, limits, signal, settle }: ExchangeTerms) {
    this.#upstreamId = upstream.id
    this.#settle = settle
    this.#state = 'open'
    this.#chunks = []
    this.#bytes = 0
    this.#isPaused = false
    this.#isGathering = false
    this.#deadlines = new Deadlines(nowMicros, limits, (phase) => this.#stop(new UpstreamTimedOut(phase)))
    this.#signal = signal
    signal.onStop = () => this.cancel()
  }

  onConnect(abort: (error?: Error) => void): void {
    // Thrown instead of aborted, which would cost the new connection.
    if (this.#state !== 'open') throw new UpstreamCancelled('The call was cancelled before there was a connection.')
    this.#abort = abort
  }

  onHeaders(status: number, raw: readonly Buffer[], resume: () => void): boolean {
    if (status < 200) return true
    const headers = readHead(raw)
    // It could lead anywhere.
    if (status < 400 && status >= 300) {
      this.#stop(new UpstreamRedirected('The provider answered with a redirect.'))
      return true
    }
    // We asked for no compression, and do not decompress.
    const coding = headers['content-encoding']?.trim().toLowerCase() ?? ''
    if (coding !== '' && coding !== 'identity') {
      const refusal = new UpstreamBrokenOff('The provider compressed its answer.')
      this.#stop(Object.assign(refusal, { code: 'ANSWER_COMPRESSED' }))
      return true
    }
    this.#resumeSocket = resume
    this.#deadlines.headArrived()
    this.#settle({ kind: 'answer', status, headers, body: this })
    return true
  }

  /** False pauses the socket until it is resumed. */
  onData(chunk: Buffer): boolean {
    if (this.#releasedBytesLeft !== undefined) {
      this.#releasedBytesLeft -= chunk.length
      if (this.#releasedBytesLeft < 0) this.cancel()
      return true
    }
    // The resumed parser looks for the end of a paused answer.
    if (chunk.length === 0 || this.#state !== 'open') return true
    this.#deadlines.bytesArrived(chunk, this.#isGathering)
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (!this.#isPaused && this.#bytes > (this.#reader ? AWAITED_BYTES_MAX : UNAWAITED_BYTES_MAX)) {
      this.#isPaused = true
      this.#deadlines.pause()
    }
    // Once the parser has returned: the other chunks of the same socket read are gathered first.
    if (this.#reader !== undefined && !this.#isGathering) {
      this.#isGathering = true
      queueMicrotask(() => this.#settleRead())
    }
    return !this.#isPaused
  }

  onComplete(): void {
    if (this.#state === 'open') this.#end('ended')
  }

  onError(error: Error): void {
    if (this.#state !== 'open') return
    const hasHead = this.#resumeSocket !== undefined
    this.#end(hasHead ? asBodyError(error) : error)
    if (!hasHead)
      this.#settle(describeFailure(error, { upstreamId: this.#upstreamId, sent: this.#abort !== undefined }))
  }

  read(): Promise<readonly Buffer[]> {
    if (this.#chunks.length > 0 || this.#state === 'ended') return Promise.resolve(this.#take())
    if (this.#state !== 'open') return Promise.reject(this.#state)
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject }
    })
  }

  cancel(): void {
    this.#stop(new UpstreamCancelled('The call was cancelled.'))
  }

  release(): void {
    if (this.#state !== 'open') return
    this.#releasedBytesLeft = RELEASE_BYTES_MAX
    this.#releaseTimer = setTimeout(() => this.cancel(), RELEASE_MS)
    this.#take()
  }

  #take(): readonly Buffer[] {
    const taken = this.#chunks
    this.#chunks = []
    this.#bytes = 0
    if (this.#isPaused) {
      this.#isPaused = false
      if (this.#state === 'open') {
        this.#deadlines.resume()
        this.#resumeSocket?.()
      }
    }
    return taken
  }

  #settleRead(): void {
    this.#isGathering = false
    const reader = this.#reader
    if (reader === undefined) return
    this.#reader = undefined
    if (this.#chunks.length === 0 && this.#state instanceof Error) reader.reject(this.#state)
    else reader.resolve(this.#take())
  }

  /** Ends the call from our side. Before there is a connection there is nothing to abort: `onConnect` checks the state. */
  #stop(error: Error): void {
    if (this.#state !== 'open') return
    this.onError(error)
    this.#abort?.(error)
  }

  #end(state: 'ended' | Error): void {
    this.#state = state
    this.#deadlines.stop()
    clearTimeout(this.#releaseTimer)
    this.#signal.onStop = undefined
    if (this.#reader !== undefined) this.#settleRead()
  }
}

function asBodyError(error: Error): Error {
  const isOurs = error instanceof UpstreamTimedOut || error instanceof UpstreamCancelled
  if (isOurs || error instanceof UpstreamBrokenOff) return error
  return new UpstreamBrokenOff('The connection to the provider ended before its answer did.', { cause: error })
}

/** The other headers, of which there are about thirty, are not decoded. */
const WANTED = [
  ...['content-type', 'content-encoding', 'retry-after', 'retry-after-ms', 'x-should-retry', 'x-request-id'],
  'x-gemini-service-tier',
]

const LENGTHS = new Set(WANTED.map((name) => name.length))
const NAMES = new Set(WANTED)

/** `raw` holds names and values alternately. A repeated header becomes one list. */
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

interface FailureContext {
  readonly upstreamId: string
  /** Part of the request may have been sent. */
  readonly sent: boolean
}

/** Error messages of libraries contain addresses and more: only their codes are repeated. */
function describeFailure(error: Error, { upstreamId, sent }: FailureContext): UpstreamFailed {
  if (error instanceof UpstreamCancelled)
    return {
      ...failedCall('cancelled', `The call of ${upstreamId} was cancelled.`),
      ...(sent ? {} : { wasSent: false }),
    }
  if (error instanceof UpstreamRedirected)
    return failedCall(
      'redirected',
      `${upstreamId} answered with a redirect, which is not followed: check its base_url.`,
    )
  const expired = expiredPhase(error, sent)
  if (expired !== undefined)
    return { ...failedCall('timeout', `${upstreamId} was too slow: its ${expired} timeout passed.`), expired }
  const code = codeOf(error)
  if (error instanceof AddressRefused) return { ...failedCall('not-sent', `${error.message}.`), code }
  const failure = sent
    ? failedCall('broken-off', `${upstreamId} took the request and broke off${BROKEN[code] ?? ''} (${code}).`)
    : failedCall('not-sent', `${upstreamId} could not be reached${reachedWords(code)} (${code}).`)
  return { ...failure, code }
}

const failedCall = (reason: UpstreamFailed['reason'], message: string): UpstreamFailed => ({
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
