import { describe, expect, it } from 'vitest'
import { added, ended, event } from '../../../test/fixtures/protocols/responses/re-emit.ts'
import { createNativeCompactionReader } from './compaction.ts'

function read(...frames: readonly Buffer[]) {
  const reader = createNativeCompactionReader('there')
  for (const frame of frames) reader.read(frame)
  return reader
}

const item = { id: 'cmp_1', type: 'compaction', encrypted_content: 'gAAA' }
const done = (item: object) => event('response.output_item.done', { output_index: 0, item })
const completed = (...output: object[]) => ended({ output, usage: { input_tokens: 9, output_tokens: 2 } })
const sealed = { kind: 'native', opaque: { wire: 'responses', origin: 'there', data: 'gAAA' } }

describe('a native compaction', () => {
  it.each([
    ['as an item that grows', [added({ ...item, encrypted_content: 'g' }), done(item), completed(item)]],
    ['only in its last event', [completed(item)]],
    ['only as an item', [added(item), done(item), completed()]],
  ] as const)('is read %s', (_how, frames) => {
    const reader = read(...frames)
    expect(reader.compacted()).toEqual(sealed)
    expect(reader.state).toMatchObject({ finished: true, error: undefined, usage: { output: 2 } })
    expect(reader.hasFailed).toBe(false)
  })

  it('fails where the provider sends something else', () => {
    const message = { type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'What?' }] }
    const reader = read(completed(message))
    expect([reader.hasFailed, reader.state.finished]).toEqual([true, false])
    expect(reader.state.error).toBeDefined()
    expect(() => reader.compacted()).toThrow('cannot stand')
  })

  it('of a cut answer is missing and does not count as a failure of the server', () => {
    const response = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [] }
    const reader = read(event('response.incomplete', { response }))
    expect([reader.hasFailed, reader.state.finished]).toEqual([false, false])
    expect(reader.state.error).toBeDefined()
  })

  it('has not failed while it runs, nor when the provider reports an error', () => {
    expect(read(added(item)).hasFailed).toBe(false)
    const failed = event('response.failed', { response: { status: 'failed', error: { code: 'x', message: 'y' } } })
    expect(read(failed)).toMatchObject({ hasFailed: false, state: { error: { message: 'y' } } })
  })
})
