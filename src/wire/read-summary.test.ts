import { describe, expect, it } from 'vitest'
import type { TurnEvent } from '../model/event.ts'
import { createSummaryReader } from './read-summary.ts'
import { eventReader, frameOf } from './responses/voice.fixture.ts'

function read(frames: readonly (readonly TurnEvent[])[], transcript = '') {
  const reader = createSummaryReader(eventReader(), () => transcript)
  for (const events of frames) reader.read(frameOf(...events))
  return reader
}

const text = (words: string): TurnEvent => ({ type: 'text-delta', text: words })
const end = (reason: 'stop' | 'length' | 'tool-calls' | 'content-filter'): TurnEvent => ({ type: 'turn-end', reason })

describe('a summary that a lane writes', () => {
  it('is its text, without what it has thought', () => {
    const thought: TurnEvent = { type: 'reasoning-delta', text: 'hm' }
    const reader = read([[thought, text(' They ')], [text('met. ')], [end('stop')]])
    expect(reader.compacted()).toEqual({ kind: 'summary', text: 'They met.' })
    expect(reader.heard).toMatchObject({ finished: true, error: undefined, outputBytes: 13, heldBytes: 13 })
  })

  it('says so where it was cut', () => {
    const reader = read([[text('They met and '.repeat(100))], [end('length')]])
    expect(reader.heard.error).toBeUndefined()
    expect(reader.compacted()).toMatchObject({ text: expect.stringMatching(/met and\n\n\[.*cut off.*\]$/) })
  })

  it.each([
    ['that is empty', [[text(' \n')], [end('stop')]]],
    ['that was filtered', [[text('They')], [end('content-filter')]]],
    ['for which a tool was called', [[text('Let me see')], [end('tool-calls')]]],
    ['that was cut before its first word', [[end('length')]]],
    ['that was cut after a few', [[text('They met and')], [end('length')]]],
  ] as const)('is none %s', (_what, frames) => {
    expect(read(frames).heard.error).toMatchObject({ message: expect.stringContaining('summary') })
  })

  it('gives way to a conversation that is shorter', () => {
    const frames = [[text('A very long account of a short greeting')], [end('stop')]] as const
    expect(read(frames, 'user: Hi').compacted()).toEqual({ kind: 'summary', text: 'user: Hi' })
    expect(read(frames, 'user: '.repeat(20)).compacted()).toMatchObject({ text: expect.stringMatching(/^A very/) })
  })

  it('is nothing yet while the answer goes on', () => {
    const { heard } = read([[text('They')]])
    expect(heard).toMatchObject({ finished: false, error: undefined, heldBytes: 4 })
  })
})
