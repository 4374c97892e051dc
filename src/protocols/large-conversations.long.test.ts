import { expect, it } from 'vitest'
import { call, conversationOf, message, result } from '../../test/fixtures/protocols/conversation.ts'
import { laneTarget } from '../../test/fixtures/protocols/lane-target.ts'
import type { Conversation } from '../model/conversation.ts'
import { codecs } from './wires.ts'

/** About what the door lets in of each. */
const many = <Value>(count: number, make: (at: number) => Value): Value[] =>
  Array.from({ length: count }, (_, at) => make(at))

const text = { type: 'text' as const, text: 'x' }
const thought = { wire: 'anthropic', origin: 'lane', data: '{"type":"thinking"}' } as const
const names = many(40_000, (at) => `n${at}`)
const tool = (name: string, parameters = {}) => ({
  ...{ type: 'function' as const, name, namespace: undefined, description: undefined, strict: undefined },
  parameters: { type: 'object', ...parameters },
})
const allowedTools = many(20_000, (at) => ({ tool: 'function' as const, name: `t${at}`, namespace: undefined }))

const LARGE: readonly (readonly [what: string, conversation: Conversation])[] = [
  ['calls with the same id', conversationOf(many(15_000, () => [call('a'), result('a', 'x')]).flat())],
  ['messages of the user', conversationOf(many(45_000, () => message('user', 'x')))],
  [
    'parts in each kind of message',
    conversationOf([
      message(
        'system',
        many(150_000, () => text),
      ),
      message('user', 'x'),
      message(
        'user',
        many(150_000, () => text),
      ),
      message(
        'assistant',
        many(150_000, () => text),
      ),
    ]),
  ],
  [
    'calls before a thought that is signed',
    conversationOf([
      ...many(200_000, (at) => call(`c${at}`)),
      { type: 'reasoning', summary: [], text: '', opaque: thought },
      call('last'),
    ]),
  ],
  [
    'names that every choice of a schema wants',
    conversationOf([message('user', 'x')], {
      tools: [tool('f', { anyOf: [{ required: names }, { required: names.toReversed() }] })],
    }),
  ],
  [
    'tools that are allowed',
    conversationOf([message('user', 'x')], {
      tools: allowedTools.map(({ name }) => tool(name)),
      toolChoice: { type: 'allowed', mode: 'auto', tools: allowedTools.toReversed() },
    }),
  ],
]

const LANES = [
  ['chat', 'openai'],
  ['chat', 'generic'],
  ['responses', 'openai'],
  ['anthropic', 'anthropic'],
  ['gemini', 'google'],
] as const

/** Quadratic comparisons or spreading them as arguments would not finish. */
it.each(LARGE)('as many %s as a body holds are written for every lane', { timeout: 60_000 }, (_what, conversation) => {
  for (const [wire, name] of LANES) {
    const target = laneTarget(codecs.dialect(wire, name), { outputCap: 8000 })
    expect(JSON.stringify(codecs.writeRequest(conversation, target).body).length).toBeGreaterThan(100_000)
  }
})
