import { describe, expect, it } from 'vitest'
import { requestWith } from '../../../test/fixtures/protocols/responses/encoder.ts'
import type { Fields } from '../../lib/types.ts'
import type { Effort } from '../../model/effort.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import { FrameWriter, type ResponseState } from './response-frames.ts'

const BEGUN: ResponseState = { status: 'in_progress', output: [] }

const objectFor = (fields: Record<string, unknown>, others: Partial<ResponsesRequest> = {}) =>
  new FrameWriter({
    request: requestWith(fields, others),
    model: 'mill-1',
    effort: 'high' as Effort,
    responseId: 'resp_1',
    createdAt: 1_800_000_000,
  })

const begun = (fields: Record<string, unknown>, others: Partial<ResponsesRequest> = {}): Fields =>
  JSON.parse(objectFor(fields, others).responseJson(BEGUN))

describe('the response object', () => {
  it('has every key although the client sent no fields', () => {
    expect(begun({})).toEqual({
      id: 'resp_1',
      object: 'response',
      created_at: 1_800_000_000,
      completed_at: null,
      status: 'in_progress',
      error: null,
      incomplete_details: null,
      model: 'mill-1',
      instructions: null,
      previous_response_id: null,
      max_output_tokens: null,
      max_tool_calls: null,
      tools: [],
      tool_choice: 'auto',
      parallel_tool_calls: true,
      text: { format: { type: 'text' } },
      reasoning: { effort: 'high', summary: null },
      temperature: 1,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      top_logprobs: 0,
      truncation: 'disabled',
      store: false,
      background: false,
      service_tier: 'default',
      metadata: {},
      safety_identifier: null,
      prompt_cache_key: null,
      output: [],
      usage: null,
    })
  })

  it('repeats the fields of the request', () => {
    const fields = {
      instructions: 'Be brief.',
      max_output_tokens: 64,
      tool_choice: { type: 'function', name: 'look' },
      parallel_tool_calls: false,
      temperature: 0,
      top_logprobs: 3,
      metadata: { run: '7' },
      prompt_cache_key: 'thread',
      user: 'u',
    }
    const others = { storedInput: () => [], previousResponseId: 'resp_0' }
    expect(begun(fields, others)).toMatchObject({
      ...fields,
      store: true,
      previous_response_id: 'resp_0',
    })
    expect(begun({ reasoning: { summary: 'auto', effort: 'low' } }).reasoning).toEqual({
      effort: 'high',
      summary: 'auto',
    })
    const format = { type: 'json_schema', name: 'answer', schema: { type: 'object' } }
    expect(begun({ text: { format, verbosity: 'low' } }).text).toEqual({
      format: { ...format, description: null, strict: false },
      verbosity: 'low',
    })
  })

  it('repeats the tools that were kept, functions with everything that they could have', () => {
    const look = { type: 'function', name: 'look' }
    const custom = { type: 'custom', name: 'patch' }
    const kept = { ...look, description: null, parameters: null, strict: null }
    expect(begun({ tools: [look, custom] }).tools).toEqual([kept, custom])
    const rewritten = new Map([['tools', Buffer.from(JSON.stringify([look]))]])
    expect(begun({ tools: [look, { type: 'web_search' }] }, { rewritten }).tools).toEqual([kept])
    const dropped = new Map([
      ['tools', null],
      ['tool_choice', null],
    ])
    const left = begun({ tools: [{ type: 'web_search' }], tool_choice: 'none' }, { rewritten: dropped })
    expect(left).toMatchObject({ tools: [], tool_choice: 'auto' })
  })

  it('uses defaults for fields of a wrong type', () => {
    const wrong = { temperature: 'hot', tools: {}, text: [], reasoning: 3, metadata: 'x', max_output_tokens: '9' }
    expect(begun(wrong)).toEqual(begun({}))
  })

  it('has the state around the repeated fields', () => {
    const object = objectFor(
      { tools: [{ type: 'custom', name: 'ä"\u2028' }], metadata: { a: 'b' } },
      { storedInput: () => [] },
    )
    const responseIn = (state: ResponseState): unknown => JSON.parse(object.responseJson(state))
    const whole = { status: 'completed', output: [{ id: 'msg_1' }], usage: { total_tokens: 1 } } as const
    const repeated = { tools: [{ type: 'custom', name: 'ä"\u2028' }], metadata: { a: 'b' } }
    expect(responseIn({ ...whole, completedAt: 1_800_000_001 })).toMatchObject({
      ...{ ...whole, ...repeated, completed_at: 1_800_000_001, error: null, incomplete_details: null, store: true },
    })
    expect(responseIn({ status: 'incomplete', output: [], incompleteReason: 'content_filter' })).toMatchObject({
      ...{ ...repeated, status: 'incomplete', incomplete_details: { reason: 'content_filter' }, completed_at: null },
    })
    const error = { code: 'upstream_error', message: 'It broke.' }
    expect(responseIn({ status: 'failed', output: [], error })).toMatchObject({ ...repeated, status: 'failed', error })
    expect(responseIn({ ...whole, unstored: true })).toMatchObject({ ...repeated, store: false })
  })

  it('serializes the request once', () => {
    let reads = 0
    const tool = { type: 'custom', name: 'patch', toJSON: () => ({ read: ++reads }) }
    const object = objectFor({ tools: [tool] })
    object.responseJson(BEGUN)
    object.responseJson(BEGUN)
    expect(reads).toBe(1)
  })
})

describe('the frames of an answer', () => {
  const writer = () =>
    new FrameWriter({
      request: requestWith(),
      model: 'mill-1',
      effort: undefined,
      responseId: 'resp_1',
      createdAt: 1_800_000_000,
    })

  it('are numbered, and no field overrides the number', () => {
    const own = writer()
    expect(own.frame('response.x', { type: 'y', sequence_number: 9, a: 1 })).toBe(
      'event: response.x\ndata: {"type":"response.x","sequence_number":0,"a":1}\n\n',
    )
    expect(own.frame('response.z', {})).toBe('event: response.z\ndata: {"type":"response.z","sequence_number":1}\n\n')
  })

  it('open the response once, and can go back', () => {
    const own = writer()
    const start = own.place()
    const opened = own.opening()
    expect(opened.split('\n\n')).toHaveLength(3)
    expect([own.isOpen, own.opening()]).toEqual([true, ''])
    own.rewindTo(start)
    expect([own.isOpen, own.opening()]).toEqual([false, opened])
  })
})
