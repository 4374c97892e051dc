import { describe, expect, it } from 'vitest'
import { conversationIn } from '../../../test/fixtures/protocols/conversation-in.ts'
import {
  AI_SDK,
  ALL_NULL,
  CODEX,
  CODEX_LITE,
  FROM_ELSEWHERE,
} from '../../../test/fixtures/protocols/responses/client-requests.ts'
import { base, conversationOf, requestOf, withItems } from '../../../test/fixtures/protocols/responses/read-request.ts'
import { EMPTY_CONVERSATION } from '../../model/conversation.ts'
import { forwardedItems } from './input-items.ts'

const text = (words: string) => ({ type: 'text', text: words })
const message = (role: string, ...content: readonly object[]) => ({
  type: 'message',
  role,
  content,
  phase: undefined,
  name: undefined,
})

describe('readConversation', () => {
  it('reads a text as one message of the user', () => {
    expect(conversationOf(base)).toEqual({ ...EMPTY_CONVERSATION, items: [message('user', text('Hello'))] })
  })

  it('reads a turn of Codex: items in order, sealed reasoning, calls and their outputs', () => {
    const opaque = { wire: 'responses', origin: 'lane', data: 'gAAA' } as const
    const conversation = conversationIn({ ...requestOf(CODEX), sealed: new Map([['sealed-1', opaque]]) })
    expect(conversation).toMatchObject({
      instructions: undefined,
      parallelToolCalls: true,
      toolChoice: { type: 'auto' },
      verbosity: 'low',
      reasoning: { summary: 'auto' },
      identity: { promptCacheKey: '4f0c1b9e-0000-4000-8000-000000000000' },
    })
    expect(conversation.items).toEqual([
      message('developer', text('Work well.')),
      message('user', text('List the files.')),
      { type: 'reasoning', summary: [], text: '', opaque },
      {
        type: 'tool-call',
        tool: 'function',
        callId: 'call_1',
        name: 'shell',
        namespace: undefined,
        text: '{"path":"."}',
      },
      { type: 'tool-result', tool: 'function', callId: 'call_1', content: [text('README.md')] },
    ])
    expect(conversation.tools.map(({ namespace, name, type }) => [namespace, name, type])).toEqual([
      [undefined, 'shell', 'function'],
      ['multi_agent_v1', 'spawn_agent', 'function'],
      [undefined, 'apply_patch', 'custom'],
    ])
  })

  it('reads tools that are the first item, and custom calls of a namespace', () => {
    const { items, tools, parallelToolCalls } = conversationOf(CODEX_LITE)
    expect(tools.map(({ namespace, name }) => [namespace, name])).toEqual([
      ['functions', 'exec'],
      ['functions', 'shell'],
    ])
    expect(parallelToolCalls).toBe(false)
    expect(items.slice(1)).toEqual([
      { type: 'tool-call', tool: 'custom', callId: 'call_9', name: 'exec', namespace: 'functions', text: 'ls' },
      { type: 'tool-result', tool: 'custom', callId: 'call_9', content: [text('a')] },
    ])
  })

  it('reads items without type, a schema and a forced function', () => {
    const conversation = conversationOf(AI_SDK)
    expect(conversation.items.map(({ type }) => type)).toEqual([
      ...['message', 'message', 'tool-call', 'tool-result', 'message', 'message'],
    ])
    expect(conversation).toMatchObject({
      toolChoice: { type: 'tool', name: 'weather' },
      sampling: { temperature: 0.2 },
      format: { type: 'json_schema', name: 'answer', description: undefined, schema: { type: 'object' }, strict: true },
    })
  })

  it('takes null as absent', () => {
    expect(conversationOf(ALL_NULL)).toEqual({ ...conversationOf(base), items: [message('user', text('Hi'))] })
  })

  it('leaves out the items of hosted tools, and keeps phases and refusals', () => {
    const { items } = conversationOf(FROM_ELSEWHERE)
    expect(items).toEqual([
      message('user', text('Search.')),
      { ...message('assistant', { type: 'refusal', text: 'No.' }), phase: 'final_answer' },
      message('user', text('Why?')),
    ])
  })

  it('reads raw reasoning and its summary', () => {
    const reasoning = {
      type: 'reasoning',
      summary: [
        { type: 'summary_text', text: 'First' },
        { type: 'summary_text', text: 'Then' },
      ],
      content: [
        { type: 'reasoning_text', text: 'a' },
        { type: 'reasoning_text', text: 'b' },
      ],
      encrypted_content: '',
    }
    expect(conversationOf(withItems(reasoning)).items).toEqual([
      { type: 'reasoning', summary: ['First', 'Then'], text: 'ab', opaque: undefined },
    ])
  })

  it('reads parts that are not text', () => {
    const content = [
      { type: 'input_image', image_url: 'data:image/png;base64,AA', detail: null },
      { type: 'input_file', file_url: 'https://a/b.pdf', filename: 'a.pdf' },
      { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } },
    ]
    expect(conversationOf(withItems({ role: 'user', content })).items).toEqual([
      message(
        'user',
        { type: 'image', url: 'data:image/png;base64,AA', detail: undefined },
        { type: 'file', data: undefined, url: 'https://a/b.pdf', id: undefined, name: 'a.pdf' },
        { type: 'audio', data: 'AA', format: 'wav' },
      ),
    ])
  })

  it('reads a call without arguments, and an empty assistant message', () => {
    const call = { type: 'function_call', call_id: 'call_1', name: 'f' }
    expect(conversationOf(withItems({ role: 'assistant', content: null }, call)).items).toMatchObject([
      { type: 'message', content: [] },
      { type: 'tool-call', text: '' },
      { type: 'tool-result', callId: 'call_1', content: [{ type: 'text', text: 'aborted' }] },
    ])
  })

  it('gives an aborted call its result even where a later call has the same id', () => {
    const call = { type: 'function_call', call_id: 'f:0', name: 'f', arguments: '{}' }
    const output = { type: 'function_call_output', call_id: 'f:0', output: 'done' }
    const matched = conversationOf(withItems(call, { role: 'user', content: 'Again' }, call, output)).items
    expect(matched.map(({ type }) => type)).toEqual(['tool-call', 'tool-result', 'message', 'tool-call', 'tool-result'])
  })

  it('gives aborted calls a result that says so, behind all calls that were made at once', () => {
    const call = (call_id: string) => ({ type: 'custom_tool_call', call_id, name: 'f', input: '' })
    const output = { type: 'custom_tool_call_output', call_id: 'b', output: 'done' }
    const items = conversationOf(withItems(call('a'), call('b'), output, { role: 'user', content: 'Go on' })).items
    expect(items.map((item) => [item.type, 'callId' in item ? item.callId : item.type])).toEqual([
      ...[['tool-call', 'a'] as const, ['tool-call', 'b'] as const],
      ...[['tool-result', 'a'] as const, ['tool-result', 'b'] as const, ['message', 'message'] as const],
    ])
  })

  it.each([
    [{ top_logprobs: 0 }, undefined],
    [{ top_logprobs: 3 }, 3],
    [{ include: ['message.output_text.logprobs'] }, 0],
    [{ include: ['message.output_text.logprobs'], top_logprobs: 5 }, 5],
    [{ include: ['reasoning.encrypted_content'] }, undefined],
  ])('%j requests that many log probabilities', (fields, expected) => {
    expect(conversationOf({ ...base, ...fields }).sampling.topLogprobs).toBe(expected)
  })

  it('knows the older name of a summary', () => {
    const summaryOf = (reasoning: object) => conversationOf({ ...base, reasoning }).reasoning.summary
    expect(summaryOf({ generate_summary: 'concise' })).toBe('concise')
    expect(summaryOf({ generate_summary: 'concise', summary: 'detailed' })).toBe('detailed')
  })

  it('reads instructions, sampling and names', () => {
    const request = {
      instructions: 'Be brief.',
      top_p: 0,
      presence_penalty: 1,
      frequency_penalty: -1,
      user: 'u',
      safety_identifier: 's',
    }
    expect(conversationOf({ ...base, ...request, text: { format: { type: 'text' } } })).toMatchObject({
      instructions: 'Be brief.',
      format: { type: 'text' },
      sampling: { topP: 0, presencePenalty: 1, frequencyPenalty: -1 },
      identity: { user: 'u', safetyIdentifier: 's' },
    })
  })
})

describe('forwardedItems', () => {
  it('leaves hosted tools out of what an item adds, and the item with its last tool', () => {
    const own = { type: 'custom', name: 'a' }
    const added = (...tools: readonly object[]) => ({ type: 'additional_tools', tools })
    const whole = added(own)
    const items = [whole, added({ type: 'mcp' }, own), added({ type: 'mcp' })]
    const forwarded = forwardedItems(items)
    expect(forwarded).toEqual([whole, added(own)])
    expect(forwarded[0]).toBe(whole)
  })
})
