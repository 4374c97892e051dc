import { expect, test } from 'vitest'
import { createByteBudget } from '../lib/bytes.ts'
import { problem } from '../model/problem.ts'
import { createRecording, RecordingSink } from './keep-answer.ts'
import type { Sink, SinkPhase } from './turn-input.ts'

/** As the sinks of the edge may be: with members that only the sink itself can reach. */
class ClosedSink implements Sink {
  readonly #emitted: unknown[] = []
  readonly #phase: SinkPhase = 'quiet'
  get phase(): SinkPhase {
    return this.#phase
  }
  get disconnected(): boolean {
    return this.#emitted.length > 100
  }
  get isRead(): boolean {
    return !this.disconnected
  }
  get emitted(): readonly unknown[] {
    return this.#emitted
  }
  announce(headers: Readonly<Record<string, string>>): void {
    this.#emitted.push(headers)
  }
  onSilence(say: () => Buffer | undefined): void {
    this.#emitted.push(`silence ${say()}`)
  }
  write(bytes: Buffer): undefined {
    this.#emitted.push(`write ${bytes}`)
  }
  accept(bytes: Buffer): void {
    this.#emitted.push(`accept ${bytes}`)
  }
  end(bytes: Buffer): void {
    this.#emitted.push(`end ${bytes}`)
  }
  refuse(emitted: { readonly code: string }): void {
    this.#emitted.push(`refuse ${emitted.code}`)
  }
  destroy(): void {
    this.#emitted.push('destroy')
  }
  onDisconnect(): () => void {
    return () => {}
  }
}

function openSinks() {
  const sink = new ClosedSink()
  const recording = createRecording({ answerBytesMax: 1000, budget: createByteBudget(1_000_000) })
  return { sink, recording, recorded: new RecordingSink(sink, recording, false) }
}

test('everything that is said through a recording reaches the sink behind it', () => {
  const { sink, recording, recorded } = openSinks()
  recorded.announce({ 'x-a': 'b' })
  void recorded.write(Buffer.from('one'))
  recording.close(Buffer.from('two'))
  recorded.end(Buffer.from('two'))
  expect([recorded.phase, recorded.disconnected]).toEqual(['ended', false])
  expect(sink.emitted).toEqual([{ 'x-a': 'b' }, 'write one', 'end two'])
  expect(String(recording.whole())).toBe('onetwo')
})

test.each(['refuse', 'destroy'] as const)('%s reaches it too, and is an end', (way) => {
  const { sink, recorded } = openSinks()
  if (way === 'refuse') recorded.refuse(problem('server_is_overloaded', 'no'))
  else recorded.destroy()
  expect(recorded.phase).toBe('ended')
  expect(sink.emitted).toEqual([way === 'refuse' ? 'refuse server_is_overloaded' : 'destroy'])
})
