import { expect, it } from 'vitest'
import { call, conversationOf, message, result } from '../../../test/fixtures/protocols/chat/translate.ts'
import type { ConversationItem } from '../../model/conversation.ts'
import { restoreSeals, type SealBeforeCall } from './call-seals.ts'

const seal = (data: string, textBetween = false): SealBeforeCall => ({
  opaque: { wire: 'responses', origin: 'lane', data },
  textBetween,
})

/** Who says what, in order. */
function restored(items: readonly ConversationItem[], kept: Record<string, readonly SealBeforeCall[]>): string[] {
  const conversation = restoreSeals(conversationOf(items), (callId) => kept[callId] ?? [])
  return conversation.items.map((item) => {
    if (item.type === 'reasoning') return `seal ${item.opaque?.data}`
    return item.type === 'message' ? item.role : `${item.type} ${item.callId}`
  })
}

it('what was sealed stands in front of its call again', () => {
  const items = [message('user', 'Go'), call('a'), call('b'), call('c'), result('a', 'x'), result('b', 'y')]
  expect(restored(items, { a: [seal('1')], c: [seal('2'), seal('3')] })).toEqual([
    ...['user', 'seal 1', 'tool-call a', 'tool-call b', 'seal 2', 'seal 3', 'tool-call c'],
    ...['tool-result a', 'tool-result b'],
  ])
})

it('a seal from before the model’s text stands in front of the text', () => {
  const items = [message('user', 'Go'), message('assistant', 'Let me see.'), call('a'), result('a', 'x')]
  expect(restored(items, { a: [seal('1', true), seal('2')] })).toEqual([
    ...['user', 'seal 1', 'assistant', 'seal 2', 'tool-call a', 'tool-result a'],
  ])
  // The client has left the words out.
  expect(restored([message('user', 'Go'), call('a')], { a: [seal('1', true), seal('2')] })).toEqual([
    ...['user', 'seal 1', 'seal 2', 'tool-call a'],
  ])
})

it('a call that comes twice brings its seals once', () => {
  const items = [call('a'), result('a', 'x'), call('a'), result('a', 'y')]
  expect(restored(items, { a: [seal('1')] })).toEqual([
    ...['seal 1', 'tool-call a', 'tool-result a', 'tool-call a', 'tool-result a'],
  ])
})

it('a conversation of which nothing is known stays as it is', () => {
  const conversation = conversationOf([message('user', 'Go'), call('a'), result('a', 'x')])
  expect(restoreSeals(conversation, () => [])).toEqual(conversation)
})
