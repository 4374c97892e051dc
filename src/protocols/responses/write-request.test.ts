import { describe, expect, it } from 'vitest'
import { laneTarget } from '../../../test/fixtures/protocols/lane-target.ts'
import {
  type ContentPart,
  type Conversation,
  type ConversationItem,
  EMPTY_CONVERSATION,
  type ToolName,
} from '../../model/conversation.ts'
import { effortOf } from '../../model/effort.ts'
import { type LaneTarget, withTraits } from '../shared/lane-target.ts'
import { type ResponsesDialect, responsesDialect } from './dialects.ts'
import { writeRequest } from './write-request.ts'

const conversationOf = (over: Partial<Conversation> = {}): Conversation => ({
  ...EMPTY_CONVERSATION,
  ...over,
})

function write(over: Partial<Conversation>, dialect = 'generic', target: Partial<LaneTarget<ResponsesDialect>> = {}) {
  const { body, leftOut } = writeRequest(conversationOf(over), laneTarget(responsesDialect(dialect), target))
  return { body: JSON.parse(JSON.stringify(body)), leftOut }
}

const call = (over: Partial<ToolName> & { text?: string; callId?: string }) => ({
  ...({ type: 'tool-call', tool: 'function', callId: 'call_1', name: 'f', namespace: undefined, text: '{}' } as const),
  ...over,
})
const tool = { name: 'f', namespace: undefined, description: undefined }
const text = (words: string) => ({ type: 'text', text: words }) as const
const message = (role: Speaker['role'], content: readonly ContentPart[], phase?: Speaker['phase']): Speaker => ({
  ...{ type: 'message', role, content, phase, name: undefined },
})
type Speaker = Extract<ConversationItem, { type: 'message' }>

describe('a conversation, written for a Responses lane', () => {
  it('is a request without state, with the granted output limit', () => {
    expect(write({ items: [message('user', [text('Hi')])] }, 'openai', { outputCap: 7 }).body).toEqual({
      model: 'lane',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
      max_output_tokens: 7,
      store: false,
      stream: true,
      include: ['reasoning.encrypted_content'],
    })
    expect(write({}, 'generic', { delivery: 'json' }).body).toEqual({
      model: 'lane',
      input: [],
      max_output_tokens: 50,
      store: false,
    })
  })

  it('has part types by role, and no empty assistant message', () => {
    const parts: readonly ContentPart[] = [
      text('a'),
      { type: 'refusal', text: 'no' },
      { type: 'image', url: 'data:x', detail: undefined },
      { type: 'file', data: 'd', url: undefined, id: undefined, name: 'n' },
    ]
    const { input, instructions } = write({
      instructions: 'Be brief.',
      items: [
        message('developer', [text('d')]),
        message('user', parts),
        message('assistant', parts.slice(0, 2), 'commentary'),
        message('assistant', [text('')]),
      ],
    }).body
    expect(instructions).toBe('Be brief.')
    expect(input).toEqual([
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'd' }] },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'a' },
          { type: 'input_text', text: 'no' },
          { type: 'input_image', image_url: 'data:x', detail: 'auto' },
          { type: 'input_file', file_data: 'd', filename: 'n' },
        ],
      },
      {
        type: 'message',
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'a', annotations: [] },
          { type: 'refusal', refusal: 'no' },
        ],
        phase: 'commentary',
      },
    ])
  })

  it('returns sealed reasoning to the provider that sealed it, and never raw text', () => {
    const reasoning = (wire: 'responses' | 'anthropic', origin = 'lane') =>
      ({ type: 'reasoning', summary: ['s'], text: 'raw', opaque: { wire, origin, data: 'E' } }) as const
    const items = [reasoning('responses'), reasoning('anthropic'), reasoning('responses', 'other')]
    expect(write({ items }, 'openai').body.input).toEqual([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 's' }], encrypted_content: 'E' },
    ])
    expect(write({ items: items.slice(1) }, 'vllm').body.input).toEqual([])
  })

  it('has native tools where the server knows them', () => {
    const { body } = write(
      {
        tools: [
          { ...tool, type: 'function', parameters: { type: 'object' }, strict: undefined },
          { ...tool, type: 'function', name: 'a', namespace: 'n', parameters: undefined, strict: true },
          { ...tool, type: 'custom', name: 'p', grammar: { syntax: 'lark', definition: 'start: "x"' } },
          { ...tool, type: 'function', name: 'b', namespace: 'n', parameters: undefined, strict: undefined },
        ],
        toolChoice: { type: 'tool', tool: 'custom', name: 'p', namespace: undefined },
        parallelToolCalls: false,
        items: [
          call({ name: 'a', namespace: 'n' }),
          call({ tool: 'custom', name: 'p', callId: 'call_2', text: 'in' }),
          { type: 'tool-result', tool: 'custom', callId: 'call_2', content: [text('out'), text('put')] },
        ],
      },
      'openai',
    )
    const empty = { type: 'object', properties: {} }
    expect(body).toMatchObject({
      tools: [
        { type: 'function', name: 'f', parameters: { type: 'object' }, strict: false },
        {
          ...{ type: 'namespace', name: 'n' },
          tools: [
            { type: 'function', name: 'a', parameters: empty, strict: true },
            { type: 'function', name: 'b', parameters: empty, strict: false },
          ],
        },
        { type: 'custom', name: 'p', format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } },
      ],
      tool_choice: { type: 'custom', name: 'p' },
      parallel_tool_calls: false,
      input: [
        { type: 'function_call', call_id: 'call_1', name: 'a', namespace: 'n', arguments: '{}' },
        { type: 'custom_tool_call', call_id: 'call_2', name: 'p', input: 'in' },
        { type: 'function_call_output', call_id: 'call_1', output: 'aborted' },
        { type: 'custom_tool_call_output', call_id: 'call_2', output: 'output' },
      ],
    })
  })

  it('has functions in their place elsewhere, in definition, choice and history', () => {
    const custom = { tool: 'custom', name: 'p', namespace: undefined } as const
    const { body } = write({
      tools: [
        { ...tool, type: 'function', name: 'a', namespace: 'n', parameters: undefined, strict: undefined },
        {
          ...tool,
          type: 'custom',
          name: 'p',
          description: 'Patch.',
          grammar: { syntax: 'lark', definition: 'start: "x"' },
        },
      ],
      toolChoice: {
        type: 'allowed',
        mode: 'required',
        tools: [custom, { ...custom, tool: 'function', name: 'a', namespace: 'n' }],
      },
      items: [
        call({ name: 'a', namespace: 'n' }),
        call({ tool: 'custom', name: 'p', callId: 'call_2', text: 'a "b"' }),
        {
          type: 'tool-result',
          tool: 'custom',
          callId: 'call_2',
          content: [{ type: 'image', url: 'u', detail: 'low' }],
        },
      ],
    })
    expect(body.tools).toMatchObject([
      { type: 'function', name: 'n__a' },
      { type: 'function', name: 'p', parameters: { required: ['input'] }, strict: false },
    ])
    expect(body.tools[1].description).toMatch(/^Patch\.[\s\S]*lark grammar:\nstart: "x"$/)
    expect(body.tool_choice).toEqual({
      type: 'allowed_tools',
      mode: 'required',
      tools: [
        { type: 'function', name: 'p' },
        { type: 'function', name: 'n__a' },
      ],
    })
    expect(body.input).toEqual([
      { type: 'function_call', call_id: 'call_1', name: 'n__a', arguments: '{}' },
      { type: 'function_call', call_id: 'call_2', name: 'p', arguments: '{"input":"a \\"b\\""}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'aborted' },
      {
        type: 'function_call_output',
        call_id: 'call_2',
        output: [{ type: 'input_image', image_url: 'u', detail: 'low' }],
      },
    ])
  })

  it('has one result for every call: an aborted call gets one, and of several the last counts', () => {
    const result = (callId: string, words: string) =>
      ({ type: 'tool-result', tool: 'function', callId, content: [text(words)] }) as const
    const [given, up] = [call({ callId: 'given' }), call({ callId: 'up', tool: 'custom', text: 'x' })]
    const items = [given, up, call({}), result('call_1', 'first'), result('call_1', 'again'), given]
    const { input } = write({ items }, 'openai').body as { input: { type: string; call_id: string; output?: string }[] }
    expect(input.map(({ type, call_id, output }) => [type, call_id, output])).toEqual([
      ['function_call', 'given', undefined],
      ['custom_tool_call', 'up', undefined],
      ['function_call', 'call_1', undefined],
      ['function_call_output', 'given', 'aborted'],
      ['custom_tool_call_output', 'up', 'aborted'],
      ['function_call_output', 'call_1', 'again'],
      ['function_call', expect.stringMatching(/^call_[0-9a-f]{12}$/), undefined],
      ['function_call_output', input[6]?.call_id, 'aborted'],
    ])
  })

  it('gives no two calls the same id, and every result that of its call', () => {
    const result = (words: string) =>
      ({ type: 'tool-result', tool: 'function', callId: 'call_1', content: [text(words)] }) as const
    const long = 'c'.repeat(65)
    const items = [call({}), result('one'), call({}), result('two'), call({ callId: long })]
    const { input } = write({ items }).body
    const [one, again, other] = [input[0].call_id, input[2].call_id, input[4].call_id]
    expect(one).toBe('call_1')
    expect(new Set([one, again, other]).size).toBe(3)
    for (const id of [again, other]) expect(id).toMatch(/^call_[0-9a-f]{12}$/)
    expect(input.map(({ call_id, output }: Record<string, string>) => [call_id, output])).toEqual([
      ...[
        [one, undefined],
        [one, 'one'],
        [again, undefined],
        [again, 'two'],
        [other, undefined],
        [other, 'aborted'],
      ],
    ])
    // What went to the provider before goes again as it was.
    expect(write({ items: items.slice(0, 4) }).body.input).toEqual(input.slice(0, 4))
  })

  it('has tool fields only when there are tools', () => {
    const { body } = write({ toolChoice: { type: 'auto' }, parallelToolCalls: true })
    expect(Object.keys(body)).not.toEqual(expect.arrayContaining(['tool_choice']))
    expect(body).not.toHaveProperty('parallel_tool_calls')
  })

  it('has a flat format, and verbosity, effort and summary in their fields', () => {
    const format = {
      type: 'json_schema',
      name: 'n',
      description: undefined,
      schema: undefined,
      strict: undefined,
    } as const
    const { body } = write({ format, verbosity: 'low', reasoning: { summary: 'auto' } }, 'generic', {
      effort: effortOf('high'),
    })
    expect([body.text, body.reasoning]).toEqual([
      { format: { type: 'json_schema', name: 'n', schema: {} }, verbosity: 'low' },
      { effort: 'high', summary: 'auto' },
    ])
  })

  it('spells an effort as the model does, and names one that it cannot express', () => {
    const effortFor = (effort: string, over: object = {}, name = 'deepseek') => {
      const dialect = withTraits(responsesDialect(name), { traits: over })
      const { body, leftOut } = write({}, name, { dialect, effort: effortOf(effort), client: 'chat' })
      return [body.reasoning, leftOut]
    }
    expect(effortFor('medium')).toEqual([{ effort: 'high' }, []])
    expect(effortFor('medium', {}, 'generic')).toEqual([{ effort: 'medium' }, []])
    expect(effortFor('none', { efforts: { none: 'disabled' } })).toEqual([{ effort: 'none' }, []])
    expect(effortFor('low', { efforts: { low: 4096 } })).toEqual([undefined, ['reasoning_effort']])
    expect(effortFor('strange', { efforts: { low: 'low' } })).toEqual([undefined, ['reasoning_effort']])
  })

  it('leaves out all sampling fields for a model that refuses them, also inside another field', () => {
    const sampling = {
      ...{ temperature: 0.5, topP: 0.5, presencePenalty: 1, frequencyPenalty: 1, stop: [], seed: undefined },
      ...{ logitBias: undefined, topLogprobs: 3 },
    }
    const dialect = withTraits(responsesDialect('generic'), { traits: { sampling: false } })
    const { body, leftOut } = write({ sampling }, 'generic', { dialect, client: 'chat' })
    expect(body).toEqual({ model: 'lane', input: [], max_output_tokens: 50, store: false, stream: true })
    expect(new Set(leftOut)).toEqual(
      new Set(['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'top_logprobs', 'logprobs']),
    )
  })

  it('names settings without a counterpart, and fields that the server refuses', () => {
    const sampling = {
      ...{ temperature: 0, topP: 1, presencePenalty: 0, frequencyPenalty: 0.5, stop: ['x'], seed: 0 },
      ...{ logitBias: { 1: 2 }, topLogprobs: 3 },
    }
    const identity = { user: 'u', safetyIdentifier: 's', promptCacheKey: 'p' }
    const { body, leftOut } = write({ sampling, identity }, 'groq')
    expect(leftOut).toEqual([
      ...['stop', 'seed', 'logit_bias', 'top_logprobs', 'safety_identifier', 'prompt_cache_key', 'include'],
    ])
    expect(body).toEqual({
      model: 'lane',
      input: [],
      max_output_tokens: 50,
      stream: true,
      temperature: 0,
      top_p: 1,
      frequency_penalty: 0.5,
      user: 'u',
    })
    const rule = { ...responsesDialect('generic'), withoutFields: ['max_output_tokens'] }
    expect(write({}, 'generic', { dialect: rule })).toMatchObject({ leftOut: [], body: { max_output_tokens: 50 } })
    expect(write({ sampling }).body.include).toEqual(['message.output_text.logprobs'])
  })

  it('has penalties where the server takes them, and names them elsewhere unless they are zero', () => {
    const sampling = { ...conversationOf().sampling, presencePenalty: -1, frequencyPenalty: 0 }
    expect(write({ sampling }, 'vllm')).toMatchObject({ leftOut: [], body: { presence_penalty: -1 } })
    const { body, leftOut } = write({ sampling }, 'openai')
    expect(leftOut).toEqual(['presence_penalty'])
    expect(Object.keys(body).filter((name) => name.endsWith('_penalty'))).toEqual([])
  })

  it.each(['theirs', undefined])('has the salt of the account where its client has written %s', (promptCacheKey) => {
    const identity = { ...conversationOf().identity, promptCacheKey }
    const dialect = { ...responsesDialect('vllm'), cacheSaltField: 'prompt_cache_key' }
    expect(write({ identity }, 'vllm', { dialect, cacheSalt: 'salt' }).body.prompt_cache_key).toBe('salt')
  })

  it('names message names, which this protocol does not have', () => {
    const ann = { type: 'message', role: 'user', content: [], phase: undefined, name: 'ann' } as const
    expect(write({ items: [ann] }).leftOut).toEqual(['messages.name'])
    expect(write({ items: [{ ...ann, name: undefined }] }).leftOut).toEqual([])
  })
})
