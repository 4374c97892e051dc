import type { ByteBudget } from '../lib/bytes.ts'
import type { Problem } from '../model/problem.ts'
import type { Sink, SinkPhase } from './sink.ts'

/** An answer as it goes out, for whoever asks for it again. Copied, so that nothing of it keeps larger memory alive. */
export interface Recording {
  add(bytes: Buffer): void
  /** What it will end with, once that is known and before it is said. */
  close(ending: Buffer): void
  /** Throws when the answer ends otherwise than was recorded: what is given again would not be what was given. */
  check(ending: Buffer): void
  /** The whole of it; undefined when it became too large. */
  whole(): Buffer | undefined
  /** Forgets it, and gives its memory back. */
  drop(): void
}

export interface RecordingBounds {
  readonly answerBytesMax: number
  /** Shared by all recordings. */
  readonly budget: ByteBudget
}

const SLAB_BYTES = 16 * 1024

export function createRecording({ answerBytesMax, budget }: RecordingBounds): Recording {
  let slabs: Buffer[] = []
  let used = 0
  let taken = 0
  let size = 0
  let tooLarge = false
  let last: Buffer | undefined

  const drop = () => {
    budget.give(taken)
    slabs = []
    used = taken = size = 0
    tooLarge = true
  }
  const open = (bytes: number): boolean => {
    const slabBytes = Math.max(SLAB_BYTES, bytes)
    if (!budget.take(slabBytes)) return false
    taken += slabBytes
    slabs.push(Buffer.allocUnsafeSlow(slabBytes))
    used = 0
    return true
  }
  const add = (bytes: Buffer) => {
    if (tooLarge) return
    size += bytes.length
    if (size > answerBytesMax) return drop()
    let from = 0
    while (from < bytes.length) {
      const slab = slabs.at(-1)
      if (slab === undefined || used === slab.length) {
        if (!open(bytes.length - from)) return drop()
        continue
      }
      const copied = bytes.copy(slab, used, from)
      used += copied
      from += copied
    }
  }

  return {
    add,
    close(ending) {
      add(ending)
      last = ending
    },
    check(ending) {
      if (last !== undefined && !last.equals(ending)) throw new Error('An answer ended otherwise than it was kept')
    },
    whole() {
      if (tooLarge) return undefined
      return Buffer.concat(slabs, size)
    },
    drop,
  }
}

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

  get disconnected(): boolean {
    return this.#sink.disconnected
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

  onDisconnect(listener: () => void): () => void {
    return this.#sink.onDisconnect(listener)
  }
}
