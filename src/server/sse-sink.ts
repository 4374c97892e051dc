import type { Sink, SinkPhase } from '../gateway/sink.ts'
import type { Problem } from '../model/problem.ts'
import { type Exchange, onAnswerOver, whenDrained } from './request-context.ts'
import { endAnswer, type Headers, sendProblem, watchClient, writeHead } from './respond.ts'

const STREAM_HEAD = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

/** A comment: every SSE reader skips it, every proxy counts it as traffic. */
const KEEP_ALIVE = Buffer.from(': keep-alive\n\n')

/** Beyond, a copy costs more than several pieces. */
const COPIED_BYTES_MAX = 4096

/**
 * A streamed answer. The head waits for the first event, but not for ever. One that is kept is there whole: nobody waits for a
 * model, and a comment would tear what it came between, because its pieces end anywhere.
 */
export function createSseSink(exchange: Exchange, { isKept } = { isKept: false }): Sink {
  const { response } = exchange
  const watch = watchClient(exchange)
  const announced: Record<string, string | undefined> = {}
  const writer = createStreamWriter(exchange, announced)

  let breakSilence = (): Buffer | undefined => undefined

  const silence = watchSilence(exchange, {
    awaited() {
      // Behind the end there is nothing to say, and a client that has not taken the last words needs no others.
      if (isKept || sink.phase === 'ended' || writer.isFull()) return 'nothing'
      return sink.phase === 'quiet' ? 'first-event' : 'next-event'
    },
    comment() {
      // Somebody else may have answered: the catch-all, when a turn threw.
      if (sink.phase === 'quiet' && response.headersSent) return
      if (sink.phase === 'quiet') sink.phase = 'head'
      send(breakSilence() ?? KEEP_ALIVE)
    },
  })
  const send = (bytes: Buffer): Promise<void> | undefined => {
    silence.broken()
    return writer.write(bytes, silence.broken)
  }
  const finish = () => {
    if (sink.phase === 'ended') throw new Error('this answer has ended already')
    sink.phase = 'ended'
    watch.end()
  }

  const sink = {
    phase: 'quiet' as SinkPhase,
    disconnected: watch.disconnected,
    announce: (headers: Headers) => {
      Object.assign(announced, headers)
    },
    onSilence(say: () => Buffer | undefined) {
      breakSilence = say
    },
    write(bytes: Buffer) {
      if (sink.phase === 'ended') throw new Error('this answer has ended already')
      if (watch.disconnected || bytes.length === 0) return undefined
      sink.phase = 'body'
      return send(bytes)
    },
    end(bytes: Buffer) {
      finish()
      if (!watch.disconnected) writer.end(bytes)
    },
    refuse(problem: Problem) {
      if (sink.phase !== 'quiet') throw new Error('the head has gone: say it in the words of the protocol')
      finish()
      sendProblem(exchange, problem, announced)
    },
    cut() {
      if (sink.phase === 'ended') return
      finish()
      response.destroy()
    },
    onDisconnect: watch.onDisconnect,
  }
  watch.onDisconnect(() => {
    sink.disconnected = true
  })
  return sink
}

/** The bytes of a stream: its head before the first of them, and a promise while the client takes no more. */
function createStreamWriter(exchange: Exchange, announced: Headers) {
  const { response } = exchange
  let drained: Promise<void> | undefined

  let isChunked = false

  const openHead = () => {
    writeHead(exchange, 200, { ...announced, ...STREAM_HEAD })
    isChunked = response.chunkedEncoding
  }
  /** Node puts the head and the first chunk together, and frames what is too long to be copied. */
  const put = (bytes: Buffer): boolean => {
    const isFirst = !response.headersSent
    if (isFirst) openHead()
    const framesItself = isChunked && !isFirst && bytes.length <= COPIED_BYTES_MAX
    response.chunkedEncoding = isChunked && !framesItself
    return response.write(framesItself ? asChunk(bytes) : bytes)
  }
  return {
    isFull: () => drained !== undefined,
    write(bytes: Buffer, onDrained: () => void): Promise<void> | undefined {
      if (put(bytes) || response.destroyed) return undefined
      drained ??= whenDrained(exchange).then(() => {
        drained = undefined
        onDrained()
      })
      return drained
    },
    end(bytes: Buffer) {
      if (!response.headersSent) openHead()
      response.chunkedEncoding = isChunked
      endAnswer(exchange, bytes)
    },
  }
}

const CRLF = '\r\n'

/**
 * Bytes as one chunk of an HTTP/1.1 body. Node writes a chunk as four pieces, which for the few words of a model costs
 * more than the words; in one buffer they are one.
 */
function asChunk(bytes: Buffer): Buffer {
  const size = bytes.length.toString(16) + CRLF
  const chunk = Buffer.allocUnsafe(size.length + bytes.length + CRLF.length)
  chunk.write(size, 0, 'latin1')
  chunk.set(bytes, size.length)
  chunk.write(CRLF, size.length + bytes.length, 'latin1')
  return chunk
}

/** What a stream waits for; while that is nothing, its silence is not the model's. */
type Awaited = 'first-event' | 'next-event' | 'nothing'

interface StreamSilence {
  /** Something was written, or the client has taken what there was: silence begins anew. */
  broken(): void
}

/**
 * Counts the beats in which nothing goes out on a stream: a comment breaks the silence of a model that thinks. Ends by
 * itself when the answer is over.
 */
function watchSilence(
  exchange: Exchange,
  deps: { readonly awaited: () => Awaited; readonly comment: () => void },
): StreamSilence {
  const { edge } = exchange
  const { headDelayMs, keepAliveMs } = edge.options.stream
  const beatsIn = (ms: number) => Math.max(1, Math.ceil(ms / edge.heartbeat.beatMs))
  const firstMax = beatsIn(headDelayMs)
  const nextMax = beatsIn(keepAliveMs)
  let beats = 0

  const stop = edge.heartbeat.listen(() => {
    const awaited = deps.awaited()
    if (awaited === 'nothing') return
    beats += 1
    if (beats >= (awaited === 'first-event' ? firstMax : nextMax)) deps.comment()
  })
  onAnswerOver(exchange, stop)

  return {
    broken() {
      beats = 0
    },
  }
}
