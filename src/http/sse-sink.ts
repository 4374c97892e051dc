import type { Sink, SinkPhase } from '../turn/sink.ts'
import type { Exchange } from './exchange.ts'
import { sendProblem } from './send-problem.ts'
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
  const { response, edge } = exchange
  const watch = watchClient(response)
  const announced: Record<string, string> = {}
  const beatsIn = (ms: number) => Math.max(1, Math.ceil(ms / edge.heartbeat.beatMs))
  const headBeats = beatsIn(edge.options.stream.headDelayMs)
  const silenceBeats = beatsIn(edge.options.stream.keepAliveMs)
  const stallBeats = beatsIn(edge.options.stream.stallMs)
  let phase: SinkPhase = 'quiet'
  /** Beats since something was written, or since the client began to refuse more. */
  let beats = 0
  let drained: Promise<void> | undefined

  const onBeat = () => {
    beats += 1
    if (drained) {
      if (beats >= stallBeats) response.destroy()
    } else if (phase === 'quiet') {
      if (beats >= headBeats && !response.headersSent) comment()
    } else if (beats >= silenceBeats) {
      comment()
    }
  }
  const comment = () => {
    openHead()
    send(KEEP_ALIVE)
  }
  const openHead = () => {
    if (phase !== 'quiet') return
    phase = 'head'
    writeHead(exchange, 200, { ...announced, ...STREAM_HEAD })
  }
  const send = (bytes: Buffer): Promise<void> | undefined => {
    beats = 0
    if (response.write(bytes) || watch.gone) return undefined
    drained ??= whenDrained(response).then(() => {
      drained = undefined
      beats = 0
    })
    return drained
  }
  const finish = () => {
    if (phase === 'ended') throw new Error('this answer has ended already')
    phase = 'ended'
    watch.end()
    stopBeats()
  }
  const stopBeats = edge.heartbeat.listen(onBeat)
  response.once('close', stopBeats)

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
      openHead()
      phase = 'body'
      return send(bytes)
    },
    end(bytes) {
      if (!watch.gone) openHead()
      finish()
      if (!watch.gone) response.end(bytes)
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

/** Resolves when the socket takes more, or when nobody will ever read it. */
function whenDrained(response: Exchange['response']): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })
}
