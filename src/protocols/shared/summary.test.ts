import { describe, expect, it } from 'vitest'
import { eventReader, frameOf } from '../../../test/fixtures/protocols/responses/encoder.ts'
import { conversationOf, withItems } from '../../../test/fixtures/protocols/responses/read-request.ts'
import type { TurnEvent } from '../../model/event.ts'
import {
  createSummaryReader,
  framedSummary,
  SUMMARY_REQUEST_BYTES,
  transcriptOf,
  writeSummaryRequest,
} from './summary.ts'

const talk = conversationOf({
  ...withItems(
    { role: 'system', content: 'Be kind' },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'Look ' },
        { type: 'input_text', text: 'it up' },
      ],
    },
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
    { type: 'function_call', call_id: 'c1', name: 'look', namespace: 'web', arguments: '{"q":1}' },
    { type: 'function_call_output', call_id: 'c1', output: 'found' },
    { role: 'assistant', content: 'There it is' },
  ),
  ...{ instructions: 'Short answers', temperature: 0.5, tool_choice: 'required', parallel_tool_calls: true },
  tools: [{ type: 'function', name: 'look', parameters: {} }],
  text: { format: { type: 'json_object' }, verbosity: 'low' },
  reasoning: { summary: 'auto' },
})

it('a conversation that is to be summed up goes as it is, with one more message and no tools', () => {
  const asked = writeSummaryRequest(talk)
  expect(asked.items.slice(0, -1)).toEqual(talk.items)
  expect(asked.items.at(-1)).toMatchObject({ type: 'message', role: 'user' })
  expect(Buffer.byteLength(JSON.stringify(asked.items.at(-1)))).toBeGreaterThan(SUMMARY_REQUEST_BYTES)
  const { instructions, tools, toolChoice, parallelToolCalls, format, verbosity, sampling, reasoning } = asked
  expect(instructions).toBe('Short answers')
  expect(tools).toEqual([])
  expect([toolChoice, parallelToolCalls, format, verbosity, reasoning.summary]).toEqual(Array(5).fill(undefined))
  expect(sampling).toMatchObject({ temperature: undefined, stop: [] })
})

it('a transcript has all text except that of the system and of reasoning', () => {
  expect(transcriptOf(talk)).toBe(
    'user: Look it up\n\ncall c1 of web.look: {"q":1}\n\nresult of c1: found\n\nassistant: There it is',
  )
  expect(transcriptOf({ items: [] })).toBe('')
})

it('a summary says what it is', () => {
  expect(framedSummary('They met.')).toMatch(/^\[compaction\] .*They met\.$/s)
})

it('a conversation with more than text has no transcript: only the model can describe an image', () => {
  const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA' }
  const shown = conversationOf(withItems({ role: 'user', content: [{ type: 'input_text', text: 'Look' }, image] }))
  expect(transcriptOf(shown)).toBe('')
})

function read(frames: readonly (readonly TurnEvent[])[], transcript = '') {
  const reader = createSummaryReader(eventReader(), transcript)
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
    expect(reader.state).toMatchObject({ finished: true, error: undefined, outputBytes: 13, heldBytes: 13 })
  })

  it('says so where it was cut', () => {
    const reader = read([[text('They met and '.repeat(100))], [end('length')]])
    expect(reader.state.error).toBeUndefined()
    expect(reader.compacted()).toMatchObject({ text: expect.stringMatching(/met and\n\n\[.*cut off.*\]$/) })
  })

  it.each([
    ['that is empty', [[text(' \n')], [end('stop')]]],
    ['that was filtered', [[text('They')], [end('content-filter')]]],
    ['for which a tool was called', [[text('Let me see')], [end('tool-calls')]]],
    ['that was cut before its first word', [[end('length')]]],
    ['that was cut after a few', [[text('They met and')], [end('length')]]],
  ] as const)('is none %s', (_what, frames) => {
    expect(read(frames).state.error).toMatchObject({ message: expect.stringContaining('summary') })
  })

  it('gives way to a conversation that is shorter', () => {
    const frames = [[text('A very long account of a short greeting')], [end('stop')]] as const
    expect(read(frames, 'user: Hi').compacted()).toEqual({ kind: 'summary', text: 'user: Hi' })
    expect(read(frames, 'user: '.repeat(20)).compacted()).toMatchObject({ text: expect.stringMatching(/^A very/) })
  })

  it('is nothing yet while the answer goes on', () => {
    const { state } = read([[text('They')]])
    expect(state).toMatchObject({ finished: false, error: undefined, heldBytes: 4 })
  })
})
