import type { Problem } from '../../model/problem.ts'
import type { Sink, SinkPhase } from '../sink.ts'
import type { Recording } from './recording.ts'

/**
 * A sink beside which the answer is recorded. A turn that goes on without its client takes the course through it that it
 * would have taken with the client there.
 */
export class RecordingSink implements Sink {
  readonly #sink: Sink
  readonly #recording: Recording
  #phase: SinkPhase = 'quiet'

  constructor(sink: Sink, recording: Recording) {
    this.#sink = sink
    this.#recording = recording
  }

  get phase(): SinkPhase {
    return this.#phase === 'quiet' ? this.#sink.phase : this.#phase
  }

  get gone(): boolean {
    return this.#sink.gone
  }

  announce(headers: Parameters<Sink['announce']>[0]): void {
    this.#sink.announce(headers)
  }

  onSilence(say: () => Buffer | undefined): void {
    this.#sink.onSilence(() => {
      const bytes = say()
      // A comment is no part of the answer; what the protocol says is.
      if (bytes !== undefined) this.#recording.add(bytes)
      return bytes
    })
  }

  write(bytes: Buffer): Promise<void> | undefined {
    if (bytes.length > 0) this.#phase = 'body'
    this.#recording.add(bytes)
    return this.#sink.write(bytes)
  }

  end(bytes: Buffer): void {
    this.#recording.check(bytes)
    this.#phase = 'ended'
    this.#sink.end(bytes)
  }

  refuse(problem: Problem): void {
    this.#phase = 'ended'
    this.#sink.refuse(problem)
  }

  cut(): void {
    this.#phase = 'ended'
    this.#sink.cut()
  }

  onGone(listener: () => void): () => void {
    return this.#sink.onGone(listener)
  }
}
