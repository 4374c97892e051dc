import { describe, expect, it } from 'vitest'
import { randomFrom } from '../../../test/fixtures/lib/seeded-random.ts'
import { call, message, reasoning, requestOf, result } from '../../../test/fixtures/protocols/chat/translate.ts'
import { conversationIn } from '../../../test/fixtures/protocols/conversation-in.ts'

const chatIn = (body: object) => conversationIn(requestOf({ messages: [{ role: 'user', content: 'q' }], ...body }))
const itemsIn = (...messages: object[]) => chatIn({ messages }).items

describe('messages', () => {
  it('have content as a string or as parts, and keep their places and names', () => {
    expect(
      itemsIn(
        { role: 'system', content: 's' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
          name: 'ann',
        },
        { role: 'developer', content: 'd' },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'c' },
            { type: 'refusal', refusal: 'no' },
          ],
        },
      ),
    ).toEqual([
      message('system', 's'),
      {
        ...message('user', [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ]),
        name: 'ann',
      },
      message('developer', 'd'),
      message('assistant', [
        { type: 'text', text: 'c' },
        { type: 'refusal', text: 'no' },
      ]),
    ])
  })

  it('have images, files and audio', () => {
    const PDF = 'data:application/pdf;base64,JVBERi0xLjQK'
    const parts = [
      { type: 'image_url', image_url: { url: 'https://u', detail: 'low' } },
      { type: 'image_url', image_url: 'https://v' },
      { type: 'input_audio', input_audio: { data: 'd', format: 'mp3' } },
      { type: 'file', file: { file_data: PDF, filename: 'n' } },
    ]
    expect(itemsIn({ role: 'user', content: parts })).toEqual([
      message('user', [
        { type: 'image', url: 'https://u', detail: 'low' },
        { type: 'image', url: 'https://v', detail: undefined },
        { type: 'audio', data: 'd', format: 'mp3' },
        { type: 'file', data: PDF, url: undefined, id: undefined, name: 'n' },
      ]),
    ])
  })

  it('of an assistant are reasoning, then text, then calls', () => {
    expect(
      itemsIn({
        role: 'assistant',
        content: 'Looking.',
        reasoning_content: 'hm',
        tool_calls: [{ id: '1', type: 'function', function: { name: 'look', arguments: '{}' } }],
      }),
    ).toEqual([reasoning('hm'), message('assistant', 'Looking.'), call('1')])
  })

  it('with calls only have no content, whether null, empty or absent', () => {
    const calls = { tool_calls: [{ id: '1', type: 'function', function: { name: 'look', arguments: '{}' } }] }
    for (const emitted of [{ content: null }, { content: '' }, {}, { content: [{ type: 'text', text: '' }] }]) {
      expect(itemsIn({ role: 'assistant', ...emitted, ...calls })).toEqual([call('1')])
    }
    expect(itemsIn({ role: 'assistant', content: '' })).toEqual([message('assistant', '')])
    expect(itemsIn({ role: 'assistant', content: null })).toEqual([message('assistant', '')])
  })

  it('of a tool take text or parts, and are of the kind of their call', () => {
    expect(
      itemsIn(
        {
          role: 'assistant',
          tool_calls: [
            { id: '1', type: 'custom', custom: { name: 'patch', input: 'x' } },
            { id: '2', type: 'function', function: { name: 'look', arguments: '' } },
          ],
        },
        { role: 'tool', tool_call_id: '2', content: [{ type: 'text', text: 'b' }] },
        { role: 'tool', tool_call_id: '1', content: 'a' },
        { role: 'tool', tool_call_id: '1', content: 'again' },
        { role: 'tool', tool_call_id: '9', content: 'whose' },
      ),
    ).toEqual([
      call('1', { tool: 'custom', name: 'patch', text: 'x' }),
      call('2', { text: '' }),
      result('2', 'b'),
      { ...result('1', 'a'), tool: 'custom' },
      { ...result('1', 'again'), tool: 'custom' },
      result('9', 'whose'),
    ])
  })

  it('in the older form are calls and results that belong together', () => {
    const items = itemsIn(
      { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{}' } },
      { role: 'function', name: 'look', content: 'a' },
      { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{}' } },
      { role: 'function', name: 'look', content: 'b' },
    )
    expect(items).toEqual([call('call_0'), result('call_0', 'a'), call('call_1'), result('call_1', 'b')])
  })

  it('arguments stay as they were written, and an object becomes the JSON that it should have been', () => {
    const [broken, parsed] = itemsIn({
      role: 'assistant',
      tool_calls: [
        { id: '1', type: 'function', function: { name: 'look', arguments: '{"a": 1' } },
        { id: '2', type: 'function', function: { name: 'look', arguments: { a: 1 } } },
      ],
    })
    expect([broken, parsed]).toEqual([call('1', { text: '{"a": 1' }), call('2', { text: '{"a":1}' })])
  })
})

describe('tools', () => {
  const look = { type: 'function', function: { name: 'look', description: 'd', parameters: { type: 'object' } } }

  it('are read out of their nested shapes, and a function is not strict unless it says so', () => {
    const grammar = { definition: 'start: "x"', syntax: 'lark' }
    const custom = { type: 'custom', custom: { name: 'patch', format: { type: 'grammar', grammar } } }
    expect(chatIn({ tools: [look, custom] }).tools).toEqual([
      {
        ...{ type: 'function', name: 'look', namespace: undefined, description: 'd' },
        ...{ parameters: { type: 'object' }, strict: false },
      },
      { type: 'custom', name: 'patch', namespace: undefined, description: undefined, grammar },
    ])
  })

  it('that only a provider could run are left out by the parser, and so are the fields of tools', () => {
    expect(chatIn({ tools: [look, { type: 'web_search' }] }).tools).toHaveLength(1)
    const none = chatIn({ tools: [{ type: 'web_search' }], tool_choice: 'auto', parallel_tool_calls: true })
    expect(none).toMatchObject({ tools: [], toolChoice: undefined, parallelToolCalls: undefined })
  })

  it('may come in the older form', () => {
    const body = { functions: [{ name: 'look', parameters: null }], function_call: { name: 'look' } }
    expect(chatIn(body)).toMatchObject({
      tools: [{ type: 'function', name: 'look', parameters: undefined }],
      toolChoice: { type: 'tool', name: 'look', tool: 'function' },
    })
  })

  it('are chosen by a mode, by name, or from a list', () => {
    const choose = (tool_choice: unknown) => chatIn({ tools: [look], tool_choice }).toolChoice
    for (const type of ['auto', 'none', 'required']) expect(choose(type)).toEqual({ type })
    const named = { name: 'look', namespace: undefined }
    expect(choose({ type: 'function', function: { name: 'look' } })).toEqual({
      type: 'tool',
      ...named,
      tool: 'function',
    })
    expect(choose({ type: 'custom', custom: { name: 'look' } })).toEqual({ type: 'tool', ...named, tool: 'custom' })
    const allowed = { mode: 'required', tools: [{ type: 'function', function: { name: 'look' } }] }
    expect(choose({ type: 'allowed_tools', allowed_tools: allowed })).toEqual({
      ...{ type: 'allowed', mode: 'required' },
      tools: [{ ...named, tool: 'function' }],
    })
    expect(choose('whatever')).toBeUndefined()
  })
})

it('an empty name counts as absent', () => {
  const { identity } = chatIn({ user: '', safety_identifier: '', prompt_cache_key: '' })
  expect(identity).toEqual({ user: undefined, safetyIdentifier: undefined, promptCacheKey: undefined })
})

it('settings are read, null counts as absent, and zero is a value', () => {
  expect(
    chatIn({
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' }, strict: true } },
      ...{ verbosity: 'low', temperature: 0, top_p: null, stop: 'x', seed: 0, logprobs: true, presence_penalty: -1 },
      ...{ logit_bias: { 5: 1 }, user: 'u', safety_identifier: 's', prompt_cache_key: 'k', parallel_tool_calls: false },
      tools: [{ type: 'function', function: { name: 'look' } }],
    }),
  ).toMatchObject({
    format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true },
    verbosity: 'low',
    parallelToolCalls: false,
    sampling: { temperature: 0, topP: undefined, stop: ['x'], seed: 0, topLogprobs: 0, presencePenalty: -1 },
    identity: { user: 'u', safetyIdentifier: 's', promptCacheKey: 'k' },
  })
  expect(chatIn({ stop: ['a', 'b'], top_logprobs: 3 }).sampling).toMatchObject({
    stop: ['a', 'b'],
    topLogprobs: undefined,
  })
  expect(chatIn({ response_format: null, stop: null, seed: null }).sampling.stop).toEqual([])
})

it('every request that the parser accepts is read without a throw', () => {
  const seed = 5
  const random = randomFrom(seed)
  const pick = <Value>(values: readonly Value[]): Value => values[random(values.length)]!
  const odd = (): unknown =>
    pick<unknown>([
      null,
      '',
      'x',
      0,
      true,
      [],
      {},
      [null],
      [5],
      { name: 1 },
      { id: [], function: 'x' },
      { __proto__: null },
    ])
  const maybe = (value: unknown) => (random(3) === 0 ? odd() : value)
  const asked = () =>
    maybe({ id: maybe('1'), type: maybe('function'), function: maybe({ name: maybe('f'), arguments: maybe('') }) })
  let items = 0
  for (let round = 0; round < 3000; round++) {
    const messages = Array.from({ length: 4 }, () => ({
      role: pick(['user', 'assistant', 'tool', 'function', 'system']),
      content: 'x',
      name: odd(),
      tool_call_id: odd(),
      reasoning_content: odd(),
      refusal: odd(),
      tool_calls: maybe([asked(), asked()]),
      function_call: odd(),
    }))
    const tools = [{ type: 'function', function: { name: 'f', parameters: odd(), description: odd(), strict: odd() } }]
    const allowed = { type: 'allowed_tools', allowed_tools: odd() }
    items += chatIn({ messages, tools, tool_choice: pick<unknown>(['x', allowed, { type: 'custom' }]) }).items.length
  }
  console.log(`chat requests: seed ${seed}, 3000 requests, ${items} items`)
  expect(items).toBeGreaterThan(10_000)
})
