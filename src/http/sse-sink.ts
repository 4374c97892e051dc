import type { Sink, SinkPhase } from '../turn/sink.ts'
import type { Exchange } from './exchange.ts'
import { onAnswerOver } from './on-answer-over.ts'
import { sendProblem } from './send-problem.ts'
import { watchSilence } from './stream-silence.ts'
import { watchClient } from './watch-client.ts'
import { writeHead } from './write-head.ts'

const STREAM_HEAD = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

/** A comment: every SSE reader skips it, every proxy counts it as traffic. */
const KEEP_ALIVE = Buffer.from(': keep-alive\n\n')

/** A streamed answer. The head waits for the first event, but not for ever. */
export function createSseSink(exchange: Exchange): Sink {
  const { response } = exchange
  const watch = watchClient(exchange)
  const announced: Record<string, string> = {}
  const writer = createStreamWriter(exchange, announced)
  let phase: SinkPhase = 'quiet'

  const silence = watchSilence(exchange, {
    awaited() {
      // An end that nobody takes must not hold its connection for ever either.
      if (phase === 'ended' || writer.isRefused) return 'client'
      return phase === 'quiet' ? 'first-event' : 'next-event'
    },
    comment() {
      // Somebody else may have answered: the catch-all, when a turn threw.
      if (phase === 'quiet' && response.headersSent) return
      if (phase === 'quiet') phase = 'head'
      send(KEEP_ALIVE)
    },
  })
  const send = (bytes: Buffer): Promise<void> | undefined => {
    silence.broken()
    return writer.write(bytes, silence.broken)
  }
  const finish = () => {
    if (phase === 'ended') throw new Error('this answer has ended already')
    phase = 'ended'
    watch.end()
    silence.broken()
  }

  return {
    delivery: 'stream',
    get phase() {
      return phase
    },
    get gone() {
      return watch.gone
    },
    announce: (headers) => {
      Object.assign(announced, headers)
    },
    write(bytes) {
      if (phase === 'ended') throw new Error('this answer has ended already')
      if (watch.gone || bytes.length === 0) return undefined
      phase = 'body'
      return send(bytes)
    },
    end(bytes) {
      finish()
      if (!watch.gone) writer.end(bytes)
    },
    refuse(problem) {
      if (phase !== 'quiet') throw new Error('the head has gone: say it in the words of the protocol')
      finish()
      sendProblem(exchange, problem, announced)
    },
    cut() {
      if (phase === 'ended') return
      finish()
      response.destroy()
    },
    onGone: watch.onGone,
  }
}

/** The bytes of a stream: its head before the first of them, and a promise while the client takes no more. */
function createStreamWriter(exchange: Exchange, announced: Readonly<Record<string, string>>) {
  const { response } = exchange
  let drained: Promise<void> | undefined

  const openHead = () => {
    if (!response.headersSent) writeHead(exchange, 200, { ...announced, ...STREAM_HEAD })
  }
  return {
    get isRefused() {
      return drained !== undefined
    },
    write(bytes: Buffer, onDrained: () => void): Promise<void> | undefined {
      openHead()
      if (response.write(bytes) || response.destroyed) return undefined
      drained ??= whenDrained(exchange).then(() => {
        drained = undefined
        onDrained()
      })
      return drained
    },
    end(bytes: Buffer) {
      openHead()
      response.end(bytes)
    },
  }
}

/** Resolves when the socket takes more, or when nobody will ever read it. */
function whenDrained(exchange: Exchange): Promise<void> {
  const { response } = exchange
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done)
      stop()
      resolve()
    }
    const stop = onAnswerOver(exchange, done)
    response.on('drain', done)
  })
}
