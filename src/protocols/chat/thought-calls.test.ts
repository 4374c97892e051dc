import { describe, expect, it } from 'vitest'
import { call, conversationOf, message, requestOf, result } from '../../../test/fixtures/protocols/chat/translate.ts'
import { laneTarget, relayTarget } from '../../../test/fixtures/protocols/lane-target.ts'
import type { ConversationItem } from '../../model/conversation.ts'
import { effortOf } from '../../model/effort.ts'
import { chatDialect } from './dialects.ts'
import { rewriteRequest, writeRequest } from './write-request.ts'

const OFF = { thinking: { type: 'disabled' } }
const HIGH = effortOf('high')

const called = (thought?: string | null) => ({
  role: 'assistant',
  content: null,
  ...(thought === undefined ? {} : { reasoning_content: thought }),
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
})
const QUESTION = { role: 'user', content: 'hi' }
const ANSWER = { role: 'tool', tool_call_id: 'call_1', content: 'ok' }

function relayed(
  messages: readonly object[],
  { lane = 'deepseek', effort = HIGH as typeof HIGH | null, more = {} } = {},
) {
  const request = requestOf({ messages, ...more })
  const { body, leftOut } = rewriteRequest(request, relayTarget(chatDialect(lane), { effort: effort ?? undefined }))
  const { thinking, reasoning_effort } = JSON.parse(String(body))
  return { emitted: { thinking, reasoning_effort }, leftOut }
}

function translated(items: readonly ConversationItem[], lane = 'deepseek') {
  const target = laneTarget(chatDialect(lane), { effort: HIGH })
  const { body, leftOut } = writeRequest(conversationOf(items), { ...target, client: 'responses' })
  const { thinking, reasoning_effort } = JSON.parse(JSON.stringify(body))
  return { emitted: { thinking, reasoning_effort }, leftOut }
}

const thought: ConversationItem = { type: 'reasoning', summary: [], text: 'Hm.', opaque: undefined }

describe('a server that wants its reasoning back', () => {
  it('continues without thinking from calls without reasoning, and the client learns it', () => {
    for (const none of [undefined, null, '']) {
      expect(relayed([QUESTION, called(none), ANSWER])).toEqual({ emitted: OFF, leftOut: ['reasoning_effort'] })
    }
    const items = [message('user', 'hi'), call('call_1'), result('call_1', 'ok')]
    expect(translated(items)).toEqual({ emitted: OFF, leftOut: ['reasoning.effort'] })
    // It may be a while ago: all of them have to come back in every request.
    const later = [QUESTION, called(), ANSWER, { role: 'assistant', content: 'ok' }, QUESTION]
    expect(relayed(later, { effort: null })).toEqual({ emitted: OFF, leftOut: [] })
    expect(relayed(later, { more: { thinking: { type: 'enabled' } } }).emitted).toEqual(OFF)
  })

  it('thinks as requested where all calls have their reasoning, or there are none', () => {
    const on = { thinking: { type: 'enabled' }, reasoning_effort: 'high' }
    expect(relayed([QUESTION, called('Hm.'), ANSWER])).toEqual({ emitted: on, leftOut: [] })
    expect(relayed([QUESTION, { role: 'assistant', content: 'ok' }, QUESTION])).toEqual({ emitted: on, leftOut: [] })
    expect(relayed([QUESTION, { ...called(), tool_calls: [], content: 'ok' }, QUESTION]).emitted).toEqual(on)
    expect(translated([message('user', 'hi'), thought, call('call_1'), result('call_1', 'ok')]).emitted).toEqual(on)
  })

  it('is the only dialect that stops thinking', () => {
    const emitted = { thinking: undefined, reasoning_effort: 'high' }
    expect(relayed([QUESTION, called(), ANSWER], { lane: 'generic' })).toEqual({ emitted, leftOut: [] })
    expect(translated([message('user', 'hi'), call('call_1'), result('call_1', 'ok')], 'generic').emitted).toEqual(
      emitted,
    )
  })
})
