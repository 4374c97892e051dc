import { describe, expect, it } from 'vitest'
import {
  ALL_NULL,
  CLIENT_REQUESTS,
  CODEX,
  FROM_ELSEWHERE,
} from '../../../test/fixtures/protocols/responses/client-requests.ts'
import { base, problemOf, read, requestOf, withItems } from '../../../test/fixtures/protocols/responses/read-request.ts'
import { requestedField } from './fields.ts'

describe('parseRequest', () => {
  it('reads what admission decides on', () => {
    const request = {
      ...base,
      stream: true,
      max_output_tokens: 7,
      reasoning: { effort: 'High' },
      store: false,
      previous_response_id: 'resp_1',
    }
    expect(requestOf(request)).toMatchObject({
      protocol: 'responses',
      model: 'demo',
      delivery: 'stream',
      outputCap: 7,
      outputCapParam: 'max_output_tokens',
      effort: 'high',
      effortParam: 'reasoning.effort',
      choices: 1,
      storedInput: undefined,
      previousResponseId: 'resp_1',
      optionalFields: [],
    })
  })

  it('stores by default', () => {
    expect(requestOf(base).storedInput).toBeDefined()
    expect(requestOf({ ...base, store: null }).storedInput).toBeDefined()
    expect(requestOf({ ...base, store: true }).storedInput).toBeDefined()
  })

  it.each(Object.keys(CLIENT_REQUESTS) as (keyof typeof CLIENT_REQUESTS)[])('accepts the request of %s', (name) => {
    expect(read(CLIENT_REQUESTS[name]).kind).toBe('read')
  })

  it('takes null as absent, everywhere, and empty objects for what they are', () => {
    expect(requestOf(ALL_NULL)).toMatchObject({
      delivery: 'json',
      outputCap: undefined,
      effort: undefined,
      storedInput: expect.any(Function),
      previousResponseId: undefined,
    })
    const empties = { ...base, reasoning: {}, text: {}, metadata: {}, user: '', instructions: '', stream_options: {} }
    expect(requestOf({ ...empties, include: [], previous_response_id: '' }).previousResponseId).toBeUndefined()
  })

  it('returns the fields besides the input, without nulls', () => {
    const request = requestOf({ ...base, metadata: { a: 'b' }, user: null, temperature: 0, background: false })
    const values = ['metadata', 'user', 'temperature', 'background', 'text'].map((name) =>
      requestedField(request, name),
    )
    expect(values).toEqual([{ a: 'b' }, undefined, 0, false, undefined])
  })

  it('repeats no tools that the client does not get', () => {
    const tools = requestedField(requestOf(CODEX), 'tools') as { type: string }[]
    expect(tools.map(({ type }) => type)).toEqual(['function', 'namespace', 'custom'])
    expect(requestedField(requestOf(FROM_ELSEWHERE), 'tools')).toBeUndefined()
  })

  it('measures the input: bytes of its fields, items, tools with those inside namespaces and items', () => {
    const text = '{"model":"demo","input":"Hello","tools":[],"instructions":"Hi", "text":{},"user":"nobody"}'
    expect(requestOf(text).inputSize).toEqual({
      bodyBytes: text.length,
      inputBytes: 7 + 2 + 4 + 2,
      messages: 1,
      tools: 0,
    })
    expect(requestOf(CODEX).inputSize).toMatchObject({ messages: 5, tools: 6 })
    expect(requestOf(CLIENT_REQUESTS.CODEX_LITE).inputSize).toMatchObject({ messages: 4, tools: 4 })
  })

  it('names the fields that go to a provider only if it or the operator allows them', () => {
    const request = { ...base, top_k: 3, metadata: { a: 'b' }, client_metadata: {}, max_tool_calls: 2, stop: ['x'] }
    expect(requestOf(request).optionalFields).toEqual([
      'top_k',
      'metadata',
      'client_metadata',
      'max_tool_calls',
      'stop',
    ])
    const nested = { ...base, reasoning: { effort: 'low', budget: 3 }, stream_options: { include_usage: true } }
    expect(requestOf(nested).optionalFields).toEqual(['reasoning.budget', 'stream_options.include_usage'])
  })

  it('passes on unknown members of `text` with `text`', () => {
    expect(requestOf({ ...base, text: { verbosity: 'low', stop: 'x' } }).optionalFields).toEqual([])
  })

  it.each([
    ['background: false', { background: false }],
    ['truncation: auto', { truncation: 'auto' }],
    ['truncation: disabled', { truncation: 'disabled' }],
    ['a standard tier', { service_tier: 'auto' }],
    ['a standard way to think', { reasoning: { mode: 'standard', context: 'all_turns', summary: 'detailed' } }],
    ['the older name of a summary', { reasoning: { generate_summary: 'auto' } }],
    ['hosted values of include', { include: ['web_search_call.action.sources', 'unknown'] }],
    ['one choice', { n: 1 }],
    ['obfuscation', { stream_options: { include_obfuscation: true } }],
    ['management of the context', { context_management: [{ type: 'compaction', compact_threshold: 9 }] }],
    ['retention of a cache', { prompt_cache_retention: '24h', prompt_cache_options: {}, moderation: {} }],
    ['16 pairs of metadata', { metadata: pairs(16) }],
    ['long metadata', { metadata: { ['k'.repeat(64)]: 'v'.repeat(512) } }],
    ['JSON as text.format', { text: { format: { type: 'json_object' } } }],
    ['a schema', { text: { format: { type: 'json_schema', name: 'a', schema: {}, strict: null, description: null } } }],
  ])('%s is accepted', (_name, fields) => {
    expect(read({ ...base, ...fields })).toMatchObject({ kind: 'read' })
  })

  it.each([
    ['no model', { input: 'x' }, 'missing_required_parameter', 'model'],
    ['no input', { model: 'demo' }, 'missing_required_parameter', 'input'],
    ['input as null', { ...base, input: null }, 'missing_required_parameter', 'input'],
    ['an empty text', { ...base, input: '' }, 'missing_required_parameter', 'input'],
    ['an empty array', { ...base, input: [] }, 'invalid_value', 'input'],
    ['input as an object', { ...base, input: {} }, 'invalid_type', 'input'],
    ['instructions as items', { ...base, instructions: [] }, 'invalid_type', 'instructions'],
    ['a cap of zero', { ...base, max_output_tokens: 0 }, 'invalid_value', 'max_output_tokens'],
    ['a hot temperature', { ...base, temperature: 2.1 }, 'invalid_value', 'temperature'],
    ['two choices', { ...base, n: 2 }, 'invalid_value', 'n'],
    ['background', { ...base, background: 'yes' }, 'invalid_type', 'background'],
    ['background without store', { ...base, background: true, store: false }, 'unsupported_value', 'background'],
    ['a conversation', { ...base, conversation: 'conv_1' }, 'unsupported_parameter', 'conversation'],
    ['a conversation as object', { ...base, conversation: { id: 'x' } }, 'unsupported_parameter', 'conversation'],
    ['a stored prompt', { ...base, prompt: { id: 'pmpt_1' } }, 'unsupported_parameter', 'prompt'],
    ['another truncation', { ...base, truncation: 'middle' }, 'invalid_value', 'truncation'],
    ['a tier that is no word', { ...base, service_tier: 'Priority!' }, 'unsupported_value', 'service_tier'],
    ['a dearer way to think', { ...base, reasoning: { mode: 'pro' } }, 'unsupported_value', 'reasoning.mode'],
    ['an effort that is no word', { ...base, reasoning: { effort: 3 } }, 'invalid_type', 'reasoning.effort'],
    ['reasoning as a word', { ...base, reasoning: 'high' }, 'invalid_type', 'reasoning'],
    ['store as a word', { ...base, store: 'no' }, 'invalid_type', 'store'],
    ['include as a word', { ...base, include: 'x' }, 'invalid_type', 'include'],
    ['include of numbers', { ...base, include: [1] }, 'invalid_type', 'include'],
    ['an id as number', { ...base, previous_response_id: 7 }, 'invalid_type', 'previous_response_id'],
    ['17 pairs of metadata', { ...base, metadata: pairs(17) }, 'invalid_value', 'metadata'],
    ['a long key', { ...base, metadata: { ['k'.repeat(65)]: '' } }, 'invalid_value', 'metadata'],
    ['a long value', { ...base, metadata: { k: 'v'.repeat(513) } }, 'invalid_value', 'metadata'],
    ['a number in metadata', { ...base, metadata: { k: 1 } }, 'invalid_type', 'metadata.k'],
    ['metadata as array', { ...base, metadata: [] }, 'invalid_type', 'metadata'],
    ['a format of no type', { ...base, text: { format: {} } }, 'missing_required_parameter', 'text.format.type'],
    ['an unknown format', { ...base, text: { format: { type: 'xml' } } }, 'invalid_value', 'text.format.type'],
    ['a format as a word', { ...base, text: { format: 'json' } }, 'invalid_type', 'text.format'],
    [
      'a schema without a name',
      { ...base, text: { format: { type: 'json_schema', schema: {} } } },
      'missing_required_parameter',
      'text.format.name',
    ],
    [
      'a schema nested as in Chat',
      { ...base, text: { format: { type: 'json_schema', json_schema: { name: 'a' } } } },
      'missing_required_parameter',
      'text.format.name',
    ],
    [
      'a schema as text',
      { ...base, text: { format: { type: 'json_schema', name: 'a', schema: '{}' } } },
      'invalid_type',
      'text.format.schema',
    ],
    ['the input twice', '{"model":"demo","input":"a","input":"b"}', 'duplicate_field', 'input'],
    ['a capital Store', { ...base, Store: false }, 'unsupported_parameter', 'Store'],
    [
      'an escaped cap',
      '{"model":"demo","input":"a","max_output_t\\u006fkens":9}',
      'unsupported_parameter',
      'max_output_tokens',
    ],
    [
      'the effort twice',
      '{"model":"demo","input":"a","reasoning":{"effort":"low","effort":"high"}}',
      'duplicate_field',
      'reasoning.effort',
    ],
    ['a capital format', { ...base, text: { Format: {} } }, 'unsupported_parameter', 'text.Format'],
  ])('%s is refused', (_name, body, code, param) => {
    expect(problemOf(body)).toMatchObject({ code, param })
  })

  it('keeps the bytes of the other items where one is left out', () => {
    const kept = '{ "role":"user", "content":"caf\\u00e9", "x":1.0 }'
    const { rewritten } = requestOf(`{"model":"demo","input":[ ${kept} ,{"role":"assistant","content":""}]}`)
    expect(String(rewritten.get('input'))).toBe(`[${kept}]`)
  })

  it('finds the kinds of tools by their types, not by the words of a text', () => {
    const kindsOf = (...input: object[]) =>
      requestOf(withItems({ role: 'user', content: 'custom' }, ...input)).toolKinds
    expect(kindsOf({ role: 'user', content: 'namespace' })).toEqual([])
    expect(kindsOf({ type: 'custom_tool_call', call_id: 'c', name: 'f', input: '' })).toEqual(['custom'])
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
    expect(kindsOf({ ...call, namespace: 'ns' })).toEqual(['namespace'])
    const tools = [{ type: 'namespace', name: 'ns', tools: [{ type: 'custom', name: 'f' }] }]
    expect(requestOf({ ...base, tools }).toolKinds).toEqual(['custom', 'namespace'])
  })

  it("shows a bounded part of the client's value in messages", () => {
    const long = 'x'.repeat(100_000)
    const bodies = [
      { ...base, truncation: long },
      { ...base, metadata: { [long]: 'x' } },
      { ...base, text: { format: { type: long } } },
      { ...base, tool_choice: long },
      { ...base, tool_choice: { type: long } },
      { ...base, tool_choice: { type: 'function', name: long } },
      {
        ...base,
        tools: [
          { type: 'custom', name: long },
          { type: 'custom', name: long },
        ],
      },
      { ...base, input: [{ role: long }] },
      { ...base, input: [{ role: 'user', content: [{ type: long }] }] },
      { ...base, input: [{ type: 'item_reference', id: long }] },
      { ...base, input: [{ type: 'function_call_output', call_id: long, output: '' }] },
    ]
    for (const body of bodies) expect(problemOf(body).message.length).toBeLessThan(400)
  })
})

function pairs(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`key${at}`, 'value']))
}
