import type { Sink, SinkPhase } from '../gateway/turn-input.ts'
import { createBag } from '../lib/collections.ts'
import type { Problem } from '../model/problem.ts'
import type { RequestContext } from './request-context.ts'
import { endAnswer, sendJsonBytes, sendProblem, writeHead } from './respond.ts'
import type { Heartbeat, StreamTimes } from './services.ts'

const STREAM_HEAD = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

/** A comment: every SSE reader skips it, every proxy counts it as traffic. */
const KEEP_ALIVE = Buffer.from(': keep-alive\n\n')

/** Longer bytes cost more to copy than to write in several pieces. */
const COPIED_BYTES_MAX = 4096

/**
 * The answer to one client. `json`: nothing is sent before its end, so its status can still be an error. `stream`: the head waits
 * for the first content (`relayStream` in `gateway/stream.ts`), but at most `streams.silence_before_head` (10 s by default).
 * `replay`: a stored stream, cut at any byte; it gets no keep-alive, because that could land inside an event.
 */
export class ClientSink implements Sink {
  phase: SinkPhase = 'quiet'
  disconnected: boolean
  readonly #context: RequestContext
  readonly #delivery: 'json' | 'stream' | 'replay'
  readonly #headers: Record<string, string | undefined> = {}
  #keepAlive: (() => Buffer | undefined) | undefined
  #onDisconnect: (() => void) | undefined
  /** Removes a stream from the heartbeat. */
  readonly #stopBeats: (() => void) | undefined
  /** Backpressure: set while the client's socket is full. */
  #drained: Promise<void> | undefined
  #isChunked = false
  #isAccepted = false
  #silentBeats = 0

  constructor(context: RequestContext, delivery: 'json' | 'stream' | 'replay') {
    this.#context = context
    this.#delivery = delivery
    this.disconnected = context.isClosed || context.response.destroyed || context.request.socket.destroyed
    if (this.disconnected) return
    if (delivery === 'stream') {
      const { heartbeat } = context.edge
      if (!heartbeat.isBeating) heartbeat.start()
      this.#stopBeats = heartbeat.streams.add(this)
    }
    context.sink = this
  }

  get isRead(): boolean {
    return !this.disconnected
  }

  announce(headers: Readonly<Record<string, string | undefined>>): void {
    Object.assign(this.#headers, headers)
  }

  onSilence(keepAlive: () => Buffer | undefined): void {
    this.#keepAlive = keepAlive
  }

  /** Writes the head before the first bytes. `phase` is `head` for a keep-alive. */
  write(bytes: Buffer, phase: 'head' | 'body' = 'body'): Promise<void> | undefined {
    if (this.#delivery === 'json') throw new Error('a JSON answer is not written in pieces: pass it whole to end()')
    if (this.phase === 'ended') throw new Error('this answer has already ended')
    if (this.disconnected || bytes.length === 0) return undefined
    if (this.phase !== 'body') this.phase = phase
    this.#silentBeats = 0
    const { response } = this.#context
    const isFirst = !response.headersSent
    if (isFirst) this.#openHead()
    if (this.#writeBytes(bytes, isFirst) || response.destroyed) return undefined
    this.#drained ??= this.#context.whenDrained().then(() => {
      this.#drained = undefined
      this.#silentBeats = 0
    })
    return this.#drained
  }

  /** Sends the head of a stream before there is anything to send. */
  open(): void {
    if (this.disconnected) return
    this.phase = 'head'
    this.#openHead()
    this.#context.response.flushHeaders()
  }

  accept(bytes: Buffer): void {
    sendJsonBytes(this.#context, 200, bytes, this.#headers)
    this.#isAccepted = true
    this.phase = 'body'
  }

  end(bytes: Buffer): void {
    if (this.phase === 'ended') throw new Error('this answer has already ended')
    this.phase = 'ended'
    if (this.#isAccepted) return
    const { response } = this.#context
    if (this.#delivery === 'json') sendJsonBytes(this.#context, 200, bytes, this.#headers)
    else if (!this.disconnected) {
      const isFirst = !response.headersSent
      if (isFirst) this.#openHead()
      const framesItself = this.#isChunked && !isFirst && bytes.length <= COPIED_BYTES_MAX
      response.chunkedEncoding = this.#isChunked && !framesItself
      endAnswer(this.#context, framesItself ? asChunk(bytes, LAST_CHUNK) : bytes)
    }
  }

  refuse(problem: Problem): void {
    if (this.phase !== 'quiet') throw new Error('the head is sent: report the problem as an event of the protocol')
    this.phase = 'ended'
    sendProblem(this.#context, problem, this.#headers)
  }

  destroy(): void {
    if (this.phase === 'ended') return
    this.phase = 'ended'
    if (!this.#isAccepted) this.#context.response.destroy()
  }

  onDisconnect(listener: () => void): void {
    if (this.disconnected) listener()
    else this.#onDisconnect = listener
  }

  /** The answer was written or its connection closed. Before the end of the answer, the client has disconnected. */
  onClose(): void {
    this.#stopBeats?.()
    if (this.phase === 'ended') return
    this.disconnected = true
    this.#onDisconnect?.()
  }

  /** Sends a keep-alive when nothing was written for long. While the client's socket is full, the silence is the client's. */
  onBeat(): void {
    if (this.phase === 'ended' || this.#drained !== undefined) return
    const { beatsBeforeHead, beatsBeforeKeepAlive } = this.#context.edge.heartbeat
    this.#silentBeats += 1
    if (this.#silentBeats < (this.phase === 'quiet' ? beatsBeforeHead : beatsBeforeKeepAlive)) return
    // When a turn threw, its error may have been sent without this sink.
    if (this.phase === 'quiet' && this.#context.response.headersSent) return
    this.write(this.#keepAlive?.() ?? KEEP_ALIVE, 'head')
  }

  /**
   * Node writes a chunk in four pieces, which for a few words costs more than the words: a short one is framed here. Node joins its head
   * with a text, in latin1 one character for each byte, but not with bytes.
   */
  #writeBytes(bytes: Buffer, isFirst: boolean): boolean {
    const { response } = this.#context
    const framesItself = this.#isChunked && bytes.length <= COPIED_BYTES_MAX
    response.chunkedEncoding = this.#isChunked && !framesItself
    if (!framesItself) return response.write(bytes)
    const chunk = asChunk(bytes, NOTHING)
    return isFirst ? response.write(chunk.toString('latin1'), 'latin1') : response.write(chunk)
  }

  #openHead(): void {
    writeHead(this.#context, 200, Object.assign(this.#headers, STREAM_HEAD))
    this.#isChunked = this.#context.response.chunkedEncoding
  }
}

const CRLF = '\r\n'
const NOTHING = ''
/** What ends a body in chunks. */
const LAST_CHUNK = '0\r\n\r\n'

/** Bytes as one chunk of an HTTP/1.1 body, with what follows it. */
function asChunk(bytes: Buffer, after: string): Buffer {
  const size = bytes.length === 0 ? NOTHING : bytes.length.toString(16) + CRLF
  const end = bytes.length === 0 ? after : CRLF + after
  const chunk = Buffer.allocUnsafe(size.length + bytes.length + end.length)
  chunk.write(size, 0, 'latin1')
  chunk.set(bytes, size.length)
  chunk.write(end, size.length + bytes.length, 'latin1')
  return chunk
}

export function createHeartbeat({ headDelayMs, keepAliveMs }: StreamTimes): Heartbeat {
  // A tenth of the shortest wait is exact enough, and one second is never too often.
  const beatMs = Math.max(5, Math.min(1000, Math.floor(Math.min(headDelayMs, keepAliveMs) / 10)))
  const streams = createBag<{ onBeat(): void }>()
  let timer: NodeJS.Timeout | undefined
  const beat = () => {
    if (streams.size > 0) return streams.each((each) => each.onBeat())
    clearInterval(timer)
    heartbeat.isBeating = false
  }
  const heartbeat: Heartbeat = {
    streams,
    isBeating: false,

    beatsBeforeHead: Math.max(1, Math.ceil(headDelayMs / beatMs)),
    beatsBeforeKeepAlive: Math.max(1, Math.ceil(keepAliveMs / beatMs)),
    start() {
      timer = setInterval(beat, beatMs).unref()
      heartbeat.isBeating = true
    },
  }
  return heartbeat
}
