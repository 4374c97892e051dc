import type { Recording } from './recording.ts'
import type { Sink, SinkPhase } from './sink.ts'

/** Whether a turn hears that its client goes. */
export type Hearing = 'hears' | 'is deaf'

/**
 * A sink beside which the answer is recorded. A turn that is deaf goes on without its client: the answer is finished for
 * whoever asks again, and it takes the course that it would have taken with the client there.
 */
export function createRecordingSink(sink: Sink, recording: Recording, turn: Hearing): Sink {
  let phase: SinkPhase = 'quiet'
  return {
    delivery: sink.delivery,
    get phase() {
      return phase === 'quiet' ? sink.phase : phase
    },
    get gone() {
      return sink.gone
    },
    announce: (headers) => sink.announce(headers),
    onSilence: (say) =>
      sink.onSilence(() => {
        const bytes = say()
        // A comment is no part of the answer; what the protocol says is.
        if (bytes !== undefined) recording.add(bytes)
        return bytes
      }),
    write(bytes) {
      if (bytes.length > 0) phase = 'body'
      recording.add(bytes)
      return sink.write(bytes)
    },
    end(bytes) {
      recording.check(bytes)
      phase = 'ended'
      sink.end(bytes)
    },
    refuse(problem) {
      phase = 'ended'
      sink.refuse(problem)
    },
    cut() {
      phase = 'ended'
      sink.cut()
    },
    onGone: turn === 'hears' ? (listener) => sink.onGone(listener) : () => () => {},
  }
}
