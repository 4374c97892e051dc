import { expect, it } from 'vitest'
import { collectReply } from '../../../test/fixtures/protocols/collect-reply.ts'
import type { TurnEvent } from '../../model/event.ts'
import { createReplyCollector } from './collect-reply.ts'

const start = (call: number, over: object = {}): TurnEvent => ({
  type: 'tool-call-start',
  call,
  callId: `call_${call}`,
  name: 'look',
  namespace: undefined,
  tool: 'function',
  ...over,
})
const text = (emitted: string): TurnEvent => ({ type: 'text-delta', text: emitted })

it('puts the items of an answer together in the order of their beginnings', () => {
  const opaque = { wire: 'responses', origin: 'lane', data: 'sealed' } as const
  const logprob = { token: 'b', logprob: -1, bytes: undefined, top: [] }
  const reply = collectReply([
    { type: 'summary-start' },
    { type: 'summary-delta', text: 'Pl' },
    { type: 'summary-delta', text: 'an' },
    { type: 'summary-start' },
    { type: 'summary-delta', text: 'Do' },
    { type: 'reasoning-seal', opaque },
    { type: 'message-start', phase: 'commentary' },
    text('a'),
    { type: 'text-delta', text: 'b', logprobs: [logprob] },
    { type: 'refusal-delta', text: 'no' },
    start(0, { namespace: 'agents' }),
    start(1, { tool: 'custom' }),
    { type: 'tool-call-delta', call: 1, text: 'x' },
    { type: 'tool-call-delta', call: 0, text: '{' },
    { type: 'tool-call-delta', call: 0, text: '}' },
    { type: 'tool-call-end', call: 0 },
    { type: 'tool-call-end', call: 1 },
    { type: 'turn-end', reason: 'tool-calls' },
  ])
  expect(reply).toEqual({
    finish: 'tool-calls',
    items: [
      { type: 'reasoning', summary: ['Plan', 'Do'], text: '', opaque },
      {
        type: 'message',
        phase: 'commentary',
        content: [
          { type: 'text', text: 'ab', logprobs: [logprob] },
          { type: 'refusal', text: 'no' },
        ],
      },
      { type: 'tool-call', tool: 'function', callId: 'call_0', name: 'look', namespace: 'agents', text: '{}' },
      { type: 'tool-call', tool: 'custom', callId: 'call_1', name: 'look', namespace: undefined, text: 'x' },
    ],
  })
})

it('text after a call, a reasoning or a new beginning is a new message', () => {
  const reply = collectReply([
    text('a'),
    { type: 'reasoning-delta', text: 'hm' },
    text('b'),
    start(0),
    text('c'),
    { type: 'message-start', phase: undefined },
    text('d'),
  ])
  expect(reply.items.map((item) => item.type)).toEqual([
    ...['message', 'reasoning', 'message', 'tool-call', 'message', 'message'],
  ])
})

it('an empty delta begins nothing and separates nothing', () => {
  const empty = (['text', 'refusal', 'reasoning', 'summary'] as const).map(
    (of) => ({ type: `${of}-delta`, text: '' }) as const,
  )
  expect(collectReply(empty).items).toEqual([])
  const { items } = collectReply([text('a'), ...empty, text('b')])
  expect(items).toEqual([{ type: 'message', phase: undefined, content: [{ type: 'text', text: 'ab', logprobs: [] }] }])
  const token = { token: '', logprob: -1, bytes: undefined, top: [] }
  expect(collectReply([{ type: 'text-delta', text: '', logprobs: [token] }]).items).toHaveLength(1)
})

it('of two seals each has a reasoning of its own', () => {
  const seal = (data: string) =>
    ({ type: 'reasoning-seal', opaque: { wire: 'responses', origin: 'lane', data } }) as const
  const { items } = collectReply([{ type: 'reasoning-delta', text: 'hm' }, seal('a'), seal('b')])
  expect(items.map((item) => item.type === 'reasoning' && [item.text, item.opaque?.data])).toEqual([
    ['hm', 'a'],
    ['', 'b'],
  ])
})

it('an answer that broke off has what there was, and no reason', () => {
  const collector = createReplyCollector()
  collector.add({ type: 'reasoning-delta', text: 'hm' })
  expect(collector.reply()).toEqual({
    finish: undefined,
    items: [{ type: 'reasoning', summary: [], text: 'hm', opaque: undefined }],
  })
})
