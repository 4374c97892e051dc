import { describe, expect, it } from 'vitest'
import { catalogOf, modelDefinition } from '../../test/fixtures/catalog/catalog.ts'
import { requestOf } from '../../test/fixtures/protocols/responses/read-request.ts'
import type { Caller } from '../model/caller.ts'
import { CACHED_BYTES_MIN } from '../pricing/seen-prefixes.ts'
import { parseRequest } from '../protocols/chat/parse-request.ts'
import { scanJson } from '../protocols/json/scan-json.ts'
import type { ConversationKeys } from './plan-lanes.ts'
import { conversationKeysOf } from './plan-lanes.ts'

const { model } = catalogOf(modelDefinition('m')).entries.get('m')!
const callerOf = (account: number) => ({ account }) as Caller

function chatNames(messages: readonly object[], more: object = {}, account = 1): ConversationKeys {
  const bytes = Buffer.from(JSON.stringify({ model: 'm', messages, ...more }))
  const scan = scanJson(bytes, { depthMax: 64, valuesMax: 10_000 })
  if (scan.kind !== 'scanned') throw new Error(scan.kind)
  const read = parseRequest({ bytes, members: scan.members, value: JSON.parse(bytes.toString()) })
  if (read.kind === 'refused') throw new Error(read.problem.message)
  return conversationKeysOf(callerOf(account), read.request, model)
}

const responsesNames = (input: unknown, more: object = {}) =>
  conversationKeysOf(callerOf(1), requestOf({ model: 'm', input, ...more }), model)

const says = (role: string, content: unknown) => ({ role, content })
const HELLO = says('user', 'Hello')

describe('a conversation is recognized', () => {
  it('by its beginning, whatever its length and instructions', () => {
    const [opening] = chatNames([says('system', 'It is Monday.'), HELLO]).rememberAs
    const later = chatNames([says('system', 'It is Tuesday.'), HELLO, says('assistant', 'Hi'), says('user', 'Go on')])
    const latest = chatNames([HELLO, says('assistant', 'Hi'), says('user', 'Go on'), says('assistant', 'On')])
    expect(later.findBy).toHaveLength(2)
    expect(later.findBy[1]).toBe(opening)
    expect(later.rememberAs).toEqual(later.findBy)
    expect(latest).toEqual(later)
  })

  it('by the client’s conversation id first', () => {
    const [name, opening] = chatNames([HELLO], { prompt_cache_key: 'mine' }).rememberAs
    expect(opening).toBeDefined()
    expect(chatNames([HELLO], { prompt_cache_key: 'mine' }).findBy).toEqual([name])
    expect(chatNames([says('user', 'Otherwise')], { prompt_cache_key: 'mine' }).findBy).toEqual([name])
    expect(responsesNames('Something', { prompt_cache_key: 'mine' }).findBy).toEqual([name])
    expect(chatNames([HELLO], { prompt_cache_key: 'yours' }).findBy).not.toEqual([name])
    expect(chatNames([HELLO], { prompt_cache_key: null })).toEqual(chatNames([HELLO]))
  })

  it('whether it starts with text, an item or parts', () => {
    const { rememberAs } = responsesNames('Hello')
    expect(rememberAs).toHaveLength(1)
    expect(responsesNames([HELLO]).rememberAs).toEqual(rememberAs)
    const part = { type: 'input_text', text: 'Hello' }
    expect(responsesNames([{ type: 'message', ...says('user', [part]) }]).rememberAs).toEqual(rememberAs)
  })

  it('by all user messages before the first answer', () => {
    const [opening] = responsesNames([says('user', 'In /home.'), HELLO]).rememberAs
    const later = responsesNames([
      says('user', 'In /home.'),
      says('developer', 'Be kind.'),
      HELLO,
      { type: 'reasoning', id: 'rs_1', summary: [] },
    ])
    expect(later.findBy[1]).toBe(opening)
    expect(responsesNames([says('user', 'In /home.')]).rememberAs).not.toContain(opening)
  })
})

describe('by its opening alone', () => {
  const LONG = 'l'.repeat(CACHED_BYTES_MIN)

  it('has no lane on its first turn and the same lane on its second', () => {
    const first = chatNames([HELLO])
    expect(first.findBy).toEqual([])
    expect(chatNames([HELLO, says('assistant', 'Hi'), says('user', 'Go on')]).findBy).toContain(first.rememberAs[0])
  })

  it('finds a lane on its first turn when the prefix may be cached', () => {
    expect(chatNames([says('user', LONG)]).findBy).toHaveLength(1)
    expect(chatNames([says('user', LONG.slice(1))]).findBy).toEqual([])
    expect(chatNames([says('system', LONG), HELLO]).findBy).toEqual([])
  })

  it('finds a lane when the opening is longer than the inspected part', () => {
    const long = [says('user', 'Make it short:'), says('user', 'l'.repeat(300_000))]
    const { findBy } = chatNames(long)
    expect(findBy).toHaveLength(1)
    expect(chatNames([...long, says('assistant', 'Short.'), says('user', 'Shorter')]).findBy).toEqual(findBy)
  })

  it('with too many opening items counts as answered', () => {
    const many = Array.from({ length: 13 }, () => HELLO)
    expect(chatNames(many).findBy).toHaveLength(2)
    expect(chatNames([...many, says('assistant', 'Hi')])).toEqual(chatNames(many))
  })
})

describe('conversations are distinguished', () => {
  it('by their first answer when they begin alike', () => {
    const [one, opening] = chatNames([HELLO, says('assistant', 'Hi')]).findBy
    const [other, same] = chatNames([HELLO, says('assistant', 'Good day')]).findBy
    expect(opening).toBe(same)
    expect(one).not.toBe(other)
  })

  it('by account, model and lanes', () => {
    expect(chatNames([HELLO], {}, 2)).not.toEqual(chatNames([HELLO]))
    const { model: another } = catalogOf(modelDefinition('n')).entries.get('n')!
    const request = requestOf({ model: 'm', input: 'Hello' })
    expect(conversationKeysOf(callerOf(1), request, another)).not.toEqual(responsesNames('Hello'))
    const lanes = model.lanes.map((lane) => ({ ...lane, weight: 2 }))
    expect(conversationKeysOf(callerOf(1), request, { ...model, lanes })).not.toEqual(responsesNames('Hello'))
  })
})

it('without a user message there is no key', () => {
  const none = { findBy: [], rememberAs: [] }
  expect(chatNames([says('system', 'Speak.')])).toEqual(none)
  expect(responsesNames([{ type: 'reasoning', id: 'rs_1', summary: [] }, says('developer', 'x')])).toEqual(none)
})
