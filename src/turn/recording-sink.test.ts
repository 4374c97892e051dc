import { expect, it } from 'vitest'
import { createByteBudget } from '../lib/byte-budget.ts'
import { createRecording } from './recording.ts'
import { createRecordingSink } from './recording-sink.ts'
import type { Sink, SinkPhase } from './sink.ts'

/** A sink that knows itself, as one that is a class does. */
class KnowingSink implements Sink {
  readonly delivery = 'json'
  readonly #said: string[] = []
  phase: SinkPhase = 'quiet'
  gone = false
  get said() {
    return this.#said
  }
  announce(headers: Readonly<Record<string, string>>) {
    this.#said.push(...Object.keys(headers))
  }
  write(bytes: Buffer) {
    this.#said.push(String(bytes))
    return undefined
  }
  end(bytes: Buffer) {
    this.#said.push(String(bytes))
  }
  refuse() {
    this.#said.push('refused')
  }
  cut() {
    this.#said.push('cut')
  }
  onGone() {
    return () => {}
  }
}

it('a recording sink speaks to any sink, also to one that is a class', () => {
  const inner = new KnowingSink()
  const recording = createRecording({ answerBytesMax: 100, budget: createByteBudget(100_000) })
  const sink = createRecordingSink(inner, recording)
  sink.announce({ 'x-told': 'yes' })
  sink.write(Buffer.from('words '))
  recording.close(Buffer.from('end'))
  sink.end(Buffer.from('end'))
  expect(inner.said).toEqual(['x-told', 'words ', 'end'])
  expect(recording.whole()?.toString()).toBe('words end')
})
