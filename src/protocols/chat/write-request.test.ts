import { describe, expect, it } from 'vitest'
import { conversationOf, message, written } from '../../../test/fixtures/protocols/chat/translate.ts'
import { laneTarget } from '../../../test/fixtures/protocols/lane-target.ts'
import { type Conversation, NO_SAMPLING, type ToolChoice, type ToolDefinition } from '../../model/conversation.ts'
import { effortOf } from '../../model/effort.ts'
import { CHAT_DIALECTS, chatDialect } from './dialects.ts'
import { writeRequest } from './write-request.ts'

const ITEMS = [message('user', 'hi')]
const look: ToolDefinition = {
  type: 'function',
  name: 'look',
  namespace: undefined,
  description: 'Looks.',
  parameters: { type: 'object' },
  strict: undefined,
}
const patch: ToolDefinition = {
  type: 'custom',
  name: 'patch',
  namespace: 'edit',
  description: 'Patches.',
  grammar: { syntax: 'lark', definition: 'start: "x"' },
}
const withTools = (over: Partial<Conversation> = {}) => conversationOf(ITEMS, { tools: [look, patch], ...over })

describe('fields of every request', () => {
  it('model, cap under the name of the dialect, stream and the wish for usage', () => {
    expect(written(conversationOf(ITEMS), 'openai').body).toEqual({
      model: 'lane',
      messages: [{ role: 'user', content: 'hi' }],
      max_completion_tokens: 100,
      stream: true,
      stream_options: { include_usage: true },
    })
    expect(written(conversationOf(ITEMS), 'generic').body).toMatchObject({ max_tokens: 100 })
  })

  it('a JSON request has no stream fields', () => {
    const target = laneTarget(chatDialect('openai'), { delivery: 'json' })
    const body = JSON.parse(JSON.stringify(writeRequest(conversationOf(ITEMS), target).body))
    expect(Object.keys(body)).toEqual(['model', 'messages', 'max_completion_tokens'])
  })

  it('the effort is spelled as the dialect spells it', () => {
    const effort = effortOf('high')
    expect(written(conversationOf(ITEMS), 'openai', { effort }).body).toMatchObject({ reasoning_effort: 'high' })
    expect(written(conversationOf(ITEMS), 'openrouter', { effort }).body).toMatchObject({
      reasoning: { effort: 'high' },
    })
  })
})

describe('settings', () => {
  const settings = conversationOf(ITEMS, {
    verbosity: 'low',
    format: { type: 'json_schema', name: 'n', description: undefined, schema: { type: 'object' }, strict: true },
    sampling: {
      temperature: 0,
      topP: 0.5,
      presencePenalty: -1,
      frequencyPenalty: 1,
      stop: ['a', 'b'],
      seed: 0,
      logitBias: { 5: 1 },
      topLogprobs: 0,
    },
    identity: { user: 'u', safetyIdentifier: 's', promptCacheKey: 'k' },
  })

  it('go under the names of chat, with the schema nested; zero is a value', () => {
    expect(written(settings, 'openai').body).toMatchObject({
      verbosity: 'low',
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' }, strict: true } },
      temperature: 0,
      top_p: 0.5,
      presence_penalty: -1,
      frequency_penalty: 1,
      stop: ['a', 'b'],
      seed: 0,
      logit_bias: { 5: 1 },
      logprobs: true,
      top_logprobs: 0,
      user: 'u',
      safety_identifier: 's',
      prompt_cache_key: 'k',
    })
    expect(written(settings, 'openai').leftOut).toEqual([])
  })

  it('that the server does not take are left out and named as a Responses client wrote them, or go under another name', () => {
    const { body, leftOut } = written(settings, 'mistral')
    expect(body).toMatchObject({ random_seed: 0, temperature: 0 })
    for (const name of ['seed', 'verbosity', 'user', 'logprobs', 'top_logprobs', 'logit_bias', 'prompt_cache_key']) {
      expect(body).not.toHaveProperty(name)
    }
    expect(leftOut).toEqual([
      ...['text.verbosity', 'logit_bias', 'include', 'top_logprobs', 'user', 'safety_identifier', 'prompt_cache_key'],
    ])
  })

  it('that a lane has learned to leave out are named too', () => {
    const dialect = { ...chatDialect('openai'), withoutFields: ['reasoning_effort', 'response_format'] }
    expect(writeRequest(settings, laneTarget(dialect, { effort: effortOf('low') })).leftOut).toEqual([
      'text.format',
      'reasoning.effort',
    ])
  })

  it('plain text is the default, an object is requested', () => {
    expect(written(conversationOf(ITEMS, { format: { type: 'text' } })).body).not.toHaveProperty('response_format')
    expect(written(conversationOf(ITEMS, { format: { type: 'json_object' } })).body.response_format).toEqual({
      type: 'json_object',
    })
  })

  it('settings that were not requested are absent', () => {
    const empty = conversationOf(ITEMS, {
      sampling: NO_SAMPLING,
      toolChoice: { type: 'auto' },
      parallelToolCalls: true,
    })
    for (const { name } of CHAT_DIALECTS) {
      expect(Object.keys(written(empty, name).body).length, name).toBeLessThanOrEqual(5)
    }
  })
})

describe('tools', () => {
  it('go natively where custom tools are known, with namespaces as a beginning of the name', () => {
    expect(written(withTools(), 'openai').body.tools).toEqual([
      { type: 'function', function: { name: 'look', description: 'Looks.', parameters: { type: 'object' } } },
      {
        type: 'custom',
        custom: {
          name: 'edit__patch',
          description: 'Patches.',
          format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "x"' } },
        },
      },
    ])
  })

  it('a custom tool goes as a function of one string elsewhere, with its grammar in the description', () => {
    const { body, tools } = written(withTools(), 'generic')
    expect((body.tools as unknown[])[1]).toEqual({
      type: 'function',
      function: {
        name: 'edit__patch',
        description: 'Patches.\n\nThe input must match this lark grammar:\nstart: "x"',
        parameters: {
          type: 'object',
          properties: { input: { type: 'string', description: expect.any(String) } },
          required: ['input'],
          additionalProperties: false,
        },
      },
    })
    expect(tools.clientName('edit__patch')).toEqual({ name: 'patch', namespace: 'edit', tool: 'custom' })
  })

  it('fields of tools are only sent beside tools', () => {
    const over = { toolChoice: { type: 'required' }, parallelToolCalls: false } as const
    expect(written(withTools(over)).body).toMatchObject({ tool_choice: 'required', parallel_tool_calls: false })
    const without = written(conversationOf(ITEMS, over)).body
    for (const name of ['tools', 'tool_choice', 'parallel_tool_calls']) expect(without).not.toHaveProperty(name)
  })

  it('a tool that is forced is named as it was declared', () => {
    const forced: ToolChoice = { type: 'tool', name: 'patch', namespace: 'edit', tool: 'custom' }
    expect(written(withTools({ toolChoice: forced }), 'openai').body.tool_choice).toEqual({
      type: 'custom',
      custom: { name: 'edit__patch' },
    })
    expect(written(withTools({ toolChoice: forced }), 'generic').body.tool_choice).toEqual({
      type: 'function',
      function: { name: 'edit__patch' },
    })
  })

  it('where a server knows no list of allowed tools, only these are declared', () => {
    const toolChoice: ToolChoice = {
      type: 'allowed',
      mode: 'required',
      tools: [{ name: 'look', namespace: undefined, tool: 'function' }],
    }
    const openai = written(withTools({ toolChoice }), 'openai').body
    expect(openai.tools).toHaveLength(2)
    expect(openai.tool_choice).toEqual({
      type: 'allowed_tools',
      allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'look' } }] },
    })
    const generic = written(withTools({ toolChoice }), 'generic').body
    expect(generic.tools).toMatchObject([{ function: { name: 'look' } }])
    expect(generic.tool_choice).toBe('required')
  })
})
