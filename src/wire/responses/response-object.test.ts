import { describe, expect, it } from 'vitest'
import type { Effort } from '../../model/effort.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import { createFraming } from './framing.ts'
import { createResponseObject, type ResponseState } from './response-object.ts'
import { requestWith } from './voice.fixture.ts'

const BEGUN: ResponseState = { status: 'in_progress', output: [] }

const objectFor = (fields: Record<string, unknown>, others: Partial<ResponsesRequest> = {}) =>
  createResponseObject({
    turn: requestWith(fields, others),
    model: 'mill-1',
    effort: 'high' as Effort,
    responseId: 'resp_1',
    createdAt: 1_800_000_000,
  })

describe('the response object', () => {
  it('has every key although the client has said nothing', () => {
    expect(objectFor({}).fields(BEGUN)).toEqual({
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

  it('repeats what the client has asked for', () => {
    const asked = {
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
    const others = { store: true, previousResponseId: 'resp_0' }
    expect(objectFor(asked, others).fields(BEGUN)).toMatchObject({
      ...asked,
      store: true,
      previous_response_id: 'resp_0',
    })
    expect(objectFor({ reasoning: { summary: 'auto', effort: 'low' } }).fields(BEGUN).reasoning).toEqual({
      effort: 'high',
      summary: 'auto',
    })
    const format = { type: 'json_schema', name: 'answer', schema: { type: 'object' } }
    expect(objectFor({ text: { format, verbosity: 'low' } }).fields(BEGUN).text).toEqual({
      format: { ...format, description: null, strict: false },
      verbosity: 'low',
    })
  })

  it('repeats the tools that were kept, functions with everything that they could have', () => {
    const look = { type: 'function', name: 'look' }
    const custom = { type: 'custom', name: 'patch' }
    const kept = { ...look, description: null, parameters: null, strict: null }
    expect(objectFor({ tools: [look, custom] }).fields(BEGUN).tools).toEqual([kept, custom])
    const rewritten = new Map([['tools', Buffer.from(JSON.stringify([look]))]])
    expect(objectFor({ tools: [look, { type: 'web_search' }] }, { rewritten }).fields(BEGUN).tools).toEqual([kept])
    const dropped = new Map([
      ['tools', null],
      ['tool_choice', null],
    ])
    const left = objectFor({ tools: [{ type: 'web_search' }], tool_choice: 'none' }, { rewritten: dropped })
    expect(left.fields(BEGUN)).toMatchObject({ tools: [], tool_choice: 'auto' })
  })

  it('takes no harm from fields of a wrong type', () => {
    const wrong = { temperature: 'hot', tools: {}, text: [], reasoning: 3, metadata: 'x', max_output_tokens: '9' }
    expect(objectFor(wrong).fields(BEGUN)).toEqual(objectFor({}).fields(BEGUN))
  })

  it('is the same as fields and as JSON', () => {
    const object = objectFor({ tools: [{ type: 'function', name: 'ä"\u2028' }], metadata: { a: 'b' } })
    const states: ResponseState[] = [
      BEGUN,
      { status: 'completed', output: [{ id: 'msg_1' }], usage: { total_tokens: 1 }, completedAt: 1_800_000_001 },
      { status: 'incomplete', output: [], incompleteReason: 'content_filter' },
      { status: 'failed', output: [], error: { code: 'upstream_error', message: 'It broke.' } },
    ]
    for (const state of states) expect(JSON.parse(object.json(state))).toEqual(object.fields(state))
  })

  it('puts the request into words once, however often it is said', () => {
    let asked = 0
    const tool = { type: 'custom', name: 'patch', toJSON: () => ({ read: ++asked }) }
    const object = objectFor({ tools: [tool] })
    object.json(BEGUN)
    object.json(BEGUN)
    expect(asked).toBe(1)
  })
})

describe('the framing of an answer', () => {
  const framing = () =>
    createFraming({
      turn: requestWith(),
      model: 'mill-1',
      effort: undefined,
      responseId: 'resp_1',
      createdAt: 1_800_000_000,
    })

  it('numbers its frames and lets no field say otherwise', () => {
    const own = framing()
    expect(String(own.frame('response.x', { type: 'y', sequence_number: 9, a: 1 }))).toBe(
      'event: response.x\ndata: {"type":"response.x","sequence_number":0,"a":1}\n\n',
    )
    expect(String(own.frame('response.z', {}))).toBe(
      'event: response.z\ndata: {"type":"response.z","sequence_number":1}\n\n',
    )
  })

  it('is opened once, and can go back', () => {
    const own = framing()
    const goBack = own.bookmark()
    const opened = String(own.opening())
    expect(opened.split('\n\n')).toHaveLength(3)
    expect([own.isOpen, String(own.opening())]).toEqual([true, ''])
    goBack()
    expect([own.isOpen, String(own.opening())]).toEqual([false, opened])
  })
})
