import { describe, expect, it } from 'vitest'
import { openAccount } from '../../support/test-account.ts'
import { COUNT, COUNTED } from './chat-shapes.ts'
import { DELIVERIES, type Protocol, parseShape } from './send-shape.ts'
import { LANES, lastReceived, useShapes } from './shapes-server.ts'

const setup = useShapes()

const TOOLS = 25
const TURN_BYTES = 79_000
const MESSAGES = 200

const INSTRUCTIONS = 'You work in a repository. Read before you write. '.repeat(800)
const schema = {
  type: 'object',
  properties: { path: { type: 'string', description: 'A path below the workspace. '.repeat(20) } },
  required: ['path'],
  additionalProperties: false,
}
const named = (index: number) => ({
  name: `tool_${index}`,
  description: 'Does one thing to a file and tells what became of it. '.repeat(17),
  parameters: schema,
})
const tools = {
  chat: Array.from({ length: TOOLS }, (_, index) => ({ type: 'function', function: named(index) })),
  responses: Array.from({ length: TOOLS }, (_, index) => ({ type: 'function', ...named(index), strict: false })),
}
const idle = { tool_choice: 'auto', parallel_tool_calls: true }

/** As the agents send it: a long system prompt, every tool that they have, and a short question. */
const FIRST_TURNS: Readonly<Record<Protocol, object>> = {
  chat: {
    messages: [
      { role: 'system', content: INSTRUCTIONS },
      { role: 'user', content: [{ type: 'text', text: COUNT }] },
    ],
    ...{ tools: tools.chat, ...idle, max_tokens: 32_000, temperature: 0, n: 1 },
  },
  responses: {
    instructions: '',
    input: [
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: INSTRUCTIONS }], id: 'msg_1' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: COUNT }], id: 'msg_2' },
    ],
    ...{ tools: tools.responses, ...idle, store: false, include: ['reasoning.encrypted_content'] },
    ...{ prompt_cache_key: '4f0c1b9e-0000-4000-8000-000000000000', reasoning: { summary: 'auto' } },
  },
}

const chatRound = (index: number): object[] => [
  { role: 'user', content: [{ type: 'text', text: `Read file ${index}.` }] },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `call_${index}`, type: 'function', function: { name: 'tool_1', arguments: '{"path":"a"}' } }],
  },
  { role: 'tool', tool_call_id: `call_${index}`, content: [{ type: 'text', text: `line ${index}` }] },
  { role: 'assistant', content: `It says line ${index}.` },
]
const responsesRound = (index: number): object[] => [
  { role: 'user', content: [{ type: 'input_text', text: `Read file ${index}.` }] },
  { type: 'function_call', id: `fc_${index}`, call_id: `call_${index}`, name: 'tool_1', arguments: '{"path":"a"}' },
  { type: 'function_call_output', id: `fco_${index}`, call_id: `call_${index}`, output: `line ${index}` },
  { role: 'assistant', content: [{ type: 'output_text', text: `It says line ${index}.` }] },
]
const rounds = (round: (index: number) => object[]): object[] =>
  Array.from({ length: MESSAGES / 4 }, (_, index) => round(index)).flat()

const LONG: Readonly<Record<Protocol, object>> = {
  chat: { messages: [...rounds(chatRound), { role: 'user', content: COUNT }], tools: tools.chat.slice(0, 2) },
  responses: {
    input: [...rounds(responsesRound), { role: 'user', content: COUNT }],
    tools: tools.responses.slice(0, 2),
  },
}

describe.each(['chat', 'responses'] as const)('an agent that speaks %s', (protocol) => {
  describe.each(LANES)('over $lane', ({ model }) => {
    it(`starts with ${TOOLS} tools and ${TURN_BYTES / 1000} kB`, async () => {
      const body = { model, ...FIRST_TURNS[protocol] }
      expect(JSON.stringify(body).length).toBeGreaterThan(TURN_BYTES)
      const account = await openAccount(setup())
      for (const delivery of DELIVERIES) {
        const { text } = await parseShape(setup(), account, { protocol, delivery }, body)
        expect(text).toBe(COUNTED)
        if (model !== 'demo') expect(lastReceived(setup(), model).tools).toHaveLength(TOOLS)
      }
    })

    it(`continues after ${MESSAGES} messages, and the provider gets every one`, async () => {
      const account = await openAccount(setup())
      for (const delivery of DELIVERIES) {
        const { text } = await parseShape(setup(), account, { protocol, delivery }, { model, ...LONG[protocol] })
        expect(text).toBe(COUNTED)
        if (model === 'demo') continue
        expect(lastReceived(setup(), model).turns).toHaveLength(MESSAGES + 1)
      }
    })
  })
})
