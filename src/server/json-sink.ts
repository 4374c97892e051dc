import type { Sink, SinkPhase } from '../gateway/sink.ts'
import type { Problem } from '../model/problem.ts'
import type { Exchange } from './request-context.ts'
import { type ClientWatch, type Headers, sendJsonBytes, sendProblem, watchClient } from './respond.ts'

/** An answer in one piece: nothing is said until all is known, so its status can still be an error. */
export const createJsonSink = (exchange: Exchange): Sink => new JsonSink(exchange)

class JsonSink implements Sink {
  phase: SinkPhase = 'quiet'
  readonly #exchange: Exchange
  readonly #watch: ClientWatch
  readonly #announced: Record<string, string | undefined> = {}

  constructor(exchange: Exchange) {
    this.#exchange = exchange
    this.#watch = watchClient(exchange)
  }

  get disconnected(): boolean {
    return this.#watch.disconnected
  }

  announce(headers: Headers): void {
    Object.assign(this.#announced, headers)
  }

  onSilence(): void {}

  write(): never {
    throw new Error('a JSON answer is not written in pieces: give it whole to end()')
  }

  end(bytes: Buffer): void {
    this.#finish()
    sendJsonBytes(this.#exchange, 200, bytes, this.#announced)
  }

  refuse(problem: Problem): void {
    this.#finish()
    sendProblem(this.#exchange, problem, this.#announced)
  }

  cut(): void {
    if (this.phase === 'ended') return
    this.#finish()
    this.#exchange.response.destroy()
  }

  onDisconnect(listener: () => void): () => void {
    return this.#watch.onDisconnect(listener)
  }

  #finish(): void {
    if (this.phase === 'ended') throw new Error('this answer has ended already')
    this.phase = 'ended'
    this.#watch.end()
  }
}
