import { expect, it } from 'vitest'
import { createByteBudget } from '../lib/byte-budget.ts'
import type { Problem } from '../model/problem.ts'
import { createRecording } from './recording.ts'
import { createRecordingSink } from './recording-sink.ts'
import type { Sink, SinkPhase } from './sink.ts'

/** A sink that knows itself by `this`, as those of the edge may. */
class ToldSink implements Sink {
  readonly delivery = 'json'
  readonly gone = false
  phase: SinkPhase = 'quiet'
  readonly #told: unknown[] = []

  get told(): readonly unknown[] {
    return this.#told
  }
  announce(headers: Readonly<Record<string, string>>): void {
    this.#told.push(headers)
  }
  write(bytes: Buffer): undefined {
    this.#told.push(bytes.toString())
  }
  end(bytes: Buffer): void {
    this.#told.push(`end ${bytes}`)
  }
  refuse({ code }: Problem): void {
    this.#told.push(code)
  }
  cut(): void {
    this.#told.push('cut')
  }
  onGone(): () => void {
    throw new Error('nobody hears of the going of a client whose answer is recorded')
  }
}

it('passes on what it is told, whatever kind of sink stands behind it, and records what goes out', () => {
  const sink = new ToldSink()
  const recording = createRecording({ answerBytesMax: 100, budget: createByteBudget(1_000_000) })
  const recorded = createRecordingSink(sink, recording)
  recorded.onGone(() => {})
  recorded.announce({ name: 'value' })
  recorded.write(Buffer.from('word'))
  expect(recorded.phase).toBe('body')
  recorded.end(Buffer.from('last'))
  recorded.cut()
  expect(sink.told).toEqual([{ name: 'value' }, 'word', 'end last', 'cut'])
  expect(recording.whole()?.toString()).toBe('word')
})
