import type { Sink, SinkPhase } from '../turn/sink.ts'
import type { Exchange } from './exchange.ts'
import { sendJsonBytes } from './send-json.ts'
import { sendProblem } from './send-problem.ts'
import { watchClient } from './watch-client.ts'

/** An answer in one piece: nothing is said until all is known, so its status can still be an error. */
export function createJsonSink(exchange: Exchange): Sink {
  const watch = watchClient(exchange)
  const announced: Record<string, string> = {}
  let phase: SinkPhase = 'quiet'

  const finish = () => {
    if (phase === 'ended') throw new Error('this answer has ended already')
    phase = 'ended'
    watch.end()
  }

  return {
    delivery: 'json',
    get phase() {
      return phase
    },
    get gone() {
      return watch.gone
    },
    announce: (headers) => {
      Object.assign(announced, headers)
    },
    write() {
      throw new Error('a JSON answer is not written in pieces: give it whole to end()')
    },
    end(bytes) {
      finish()
      sendJsonBytes(exchange, 200, bytes, announced)
    },
    refuse(problem) {
      finish()
      sendProblem(exchange, problem, announced)
    },
    cut() {
      if (phase === 'ended') return
      finish()
      exchange.response.destroy()
    },
    onGone: watch.onGone,
  }
}
