import { describe, expect, it } from 'vitest'
import type { TurnTerms } from '../play-settings.ts'
import { chatRequest } from './chat.ts'
import { type Message, openCalls } from './conversation.ts'
import { responsesRequest } from './responses.ts'

const PLAIN: TurnTerms = {
  model: 'm',
  effort: undefined,
  system: undefined,
  tools: [],
  maxTokens: undefined,
  temperature: undefined,
}
const FACTS = {
  state: 'done',
  model: 'm',
  requestId: null,
  firstMs: 1,
  totalMs: 2,
  usage: undefined,
  finish: 'stop',
} as const
const CALL = { id: 'call_1', name: 'get_weather', arguments: '{"city":"Ulm"}' }
const TALK: readonly Message[] = [
  { by: 'user', id: 1, text: 'Weather?' },
  { by: 'model', id: 2, text: '', reasoning: 'I should look.', calls: [CALL], items: undefined, facts: FACTS },
  { by: 'tool', id: 3, call: 'call_1', text: 'rain' },
]

describe('a Chat request', () => {
  it('omits unset fields', () => {
    expect(chatRequest(PLAIN, [{ by: 'user', id: 1, text: 'Hi' }])).toEqual({
      model: 'm',
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: 'Hi' }],
    })
  })

  it('contains all settings, including temperature zero', () => {
    const tools = [{ name: 'get_weather', parameters: { type: 'object' } }]
    const terms = { ...PLAIN, effort: 'high', system: 'Be brief.', tools, maxTokens: 50, temperature: 0 }
    expect(chatRequest(terms, TALK)).toMatchObject({
      reasoning_effort: 'high',
      max_completion_tokens: 50,
      temperature: 0,
      tools: [{ type: 'function', function: tools[0] }],
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Weather?' },
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'I should look.',
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: CALL.arguments } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
      ],
    })
  })
})

describe('a Responses request', () => {
  it('stores nothing and includes encrypted reasoning', () => {
    expect(responsesRequest(PLAIN, [{ by: 'user', id: 1, text: 'Hi' }])).toEqual({
      model: 'm',
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
      input: [{ role: 'user', content: 'Hi' }],
    })
  })

  it('converts a Chat answer to items', () => {
    const terms = { ...PLAIN, effort: 'low', system: 'S', maxTokens: 9, temperature: 1, tools: [{ name: 'f' }] }
    expect(responsesRequest(terms, TALK)).toMatchObject({
      reasoning: { effort: 'low' },
      max_output_tokens: 9,
      temperature: 1,
      instructions: 'S',
      tools: [{ type: 'function', name: 'f' }],
      input: [
        { role: 'user' },
        { type: 'function_call', call_id: 'call_1', name: 'get_weather' },
        { type: 'function_call_output', call_id: 'call_1', output: 'rain' },
      ],
    })
  })

  it('returns the items of a Responses answer unchanged', () => {
    const items = [
      { type: 'reasoning', encrypted_content: 'sealed' },
      { type: 'message', role: 'assistant' },
    ]
    const history: Message[] = [{ by: 'model', id: 1, text: 'x', reasoning: '', calls: [], items, facts: FACTS }]
    expect(responsesRequest(PLAIN, history)).toMatchObject({ input: items })
  })
})

it('calls stay open until they have a result', () => {
  expect(openCalls(TALK.slice(0, 2))).toEqual([CALL])
  expect(openCalls(TALK)).toEqual([])
})
