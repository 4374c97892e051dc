import { describe, expect, it } from 'vitest'
import {
  bytesOf,
  eventsIn,
  FIXTURES,
  framesIn,
  plainItems,
  SETTLED,
} from '../../../test/fixtures/protocols/responses/answers.ts'
import { END, laneOf, lastResponse, reEmit, reEmitReply } from '../../../test/fixtures/protocols/responses/re-emit.ts'
import type { Fields } from '../../lib/types.ts'
import type { EncodedAnswer } from './encoder.ts'

describe('a JSON answer, re-emitted', () => {
  const replyOf = (value: unknown, over: Parameters<typeof laneOf>[0] = {}) => reEmitReply(value, laneOf(over))
  const responseOf = ({ end }: EncodedAnswer): Fields & { output: Fields[] } =>
    JSON.parse(String(end(SETTLED, END).bytes))

  it.each(FIXTURES)('has the same content as the stream: %s', (fixture) => {
    const { bytes, adapter, whole } = reEmit(framesIn([bytesOf(fixture)]))
    if (!whole) return
    const streamed = lastResponse(bytes)
    // The provider's own response at the end of its stream is what it would have answered as JSON.
    const theirs = eventsIn(bytesOf(fixture)).findLast(({ response }) => response)!.response as Fields
    const isComplete = Array.isArray(theirs.output) && theirs.output.length > 0
    const reply = replyOf(isComplete ? theirs : { ...theirs, output: streamed.output })
    if (reply.kind !== 'reply') return expect.fail(`it is ${reply.kind}`)
    const answered = responseOf(reply.answer)
    expect(plainItems(answered.output)).toEqual(plainItems(streamed.output))
    expect({ ...answered, output: [] }).toEqual({ ...streamed, output: [] })
    expect([reply.answer.state.usage, reply.answer.state.outputBytes]).toEqual([
      adapter.state.usage,
      adapter.state.outputBytes,
    ])
  })

  it('has ids of ours, and sealed reasoning only for a client that asked for it', () => {
    const output = [
      { id: 'rs_t', type: 'reasoning', summary: [], encrypted_content: 'sealed' },
      { id: 'ws_t', type: 'web_search_call' },
      { id: 'fc_t', type: 'function_call', call_id: 'call_t', name: 'f', arguments: '{}', vendor: 1 },
    ]
    const reply = replyOf({ status: 'completed', output }, { seals: 'hidden' })
    if (reply.kind !== 'reply') return expect.fail(`it is ${reply.kind}`)
    expect(responseOf(reply.answer).output).toEqual([
      { id: 'rs_ours1', type: 'reasoning', summary: [] },
      expect.objectContaining({ id: 'fc_ours2', call_id: 'call_ours3', vendor: 1, status: 'completed' }),
    ])
    expect(reply.answer.storedItems()[0]).toMatchObject({ encrypted_content: 'in our envelope: sealed' })
  })

  it('is an error when its body is one, and invalid when it is no response', () => {
    const error = { code: 'server_error', message: 'No.' }
    expect(replyOf({ error })).toEqual({ kind: 'error', error: error })
    expect(replyOf({ error: 'No.' })).toMatchObject({ kind: 'error', error: { message: 'No.' } })
    expect(replyOf({ status: 'failed', error: null, output: [] })).toMatchObject({ kind: 'error' })
    for (const value of [undefined, null, [], 'x', {}, { output: 'x' }, { status: 'queued', output: [] }]) {
      expect(replyOf(value).kind).toBe('invalid')
    }
  })
})
