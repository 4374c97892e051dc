import { describe, expect, it } from 'vitest'
import { catalogOf, modelDefinition } from '../../catalog/catalog.fixture.ts'
import type { Caller } from '../../model/caller.ts'
import { readRequest } from '../../wire/chat/read-request.ts'
import { scanJson } from '../../wire/json/scan-json.ts'
import { requestOf } from '../../wire/responses/read-request.fixture.ts'
import { conversationNames } from './conversation-names.ts'

const { model } = catalogOf(modelDefinition('m')).entries.get('m')!
const callerOf = (account: number) => ({ account }) as Caller

function chatNames(messages: readonly object[], more: object = {}, account = 1): string[] {
  const bytes = Buffer.from(JSON.stringify({ model: 'm', messages, ...more }))
  const scan = scanJson(bytes, { depthMax: 64, valuesMax: 10_000 })
  if (scan.kind !== 'scanned') throw new Error(scan.kind)
  const read = readRequest({ bytes, members: scan.members, value: JSON.parse(bytes.toString()) })
  if (read.kind === 'malformed') throw new Error(read.problem.message)
  return conversationNames(callerOf(account), read.request, model)
}

const responsesNames = (input: unknown, more: object = {}) =>
  conversationNames(callerOf(1), requestOf({ model: 'm', input, ...more }), model)

const says = (role: string, content: unknown) => ({ role, content })
const HELLO = says('user', 'Hello')

describe('a conversation is known again', () => {
  it('by how it begins, however long it has become and whatever its instructions say by now', () => {
    const [opening] = chatNames([says('system', 'It is Monday.'), HELLO])
    const later = chatNames([says('system', 'It is Tuesday.'), HELLO, says('assistant', 'Hi'), says('user', 'Go on')])
    const latest = chatNames([HELLO, says('assistant', 'Hi'), says('user', 'Go on'), says('assistant', 'On')])
    expect(later).toHaveLength(2)
    expect(later[1]).toBe(opening)
    expect(latest).toEqual(later)
  })

  it('by the name that its client gives it, before all else', () => {
    const named = chatNames([HELLO], { prompt_cache_key: 'mine' })
    expect(named).toHaveLength(2)
    expect(chatNames([says('user', 'Otherwise')], { prompt_cache_key: 'mine' })[0]).toBe(named[0])
    expect(responsesNames('Something', { prompt_cache_key: 'mine' })[0]).toBe(named[0])
    expect(chatNames([HELLO], { prompt_cache_key: 'yours' })[0]).not.toBe(named[0])
    expect(chatNames([HELLO], { prompt_cache_key: null })).toEqual(chatNames([HELLO]))
  })

  it('whether it began with a text, or with the same as an item or as parts', () => {
    const [opening] = responsesNames('Hello')
    expect(responsesNames([HELLO])).toEqual([opening])
    const part = { type: 'input_text', text: 'Hello' }
    expect(responsesNames([{ type: 'message', ...says('user', [part]) }])).toEqual([opening])
  })
})

describe('conversations are told apart', () => {
  it('by what was answered, where they begin alike', () => {
    const [one, opening] = chatNames([HELLO, says('assistant', 'Hi')])
    const [other, same] = chatNames([HELLO, says('assistant', 'Good day')])
    expect(opening).toBe(same)
    expect(one).not.toBe(other)
  })

  it('by their account, by their model, and by what lanes it has', () => {
    expect(chatNames([HELLO], {}, 2)).not.toEqual(chatNames([HELLO]))
    const { model: another } = catalogOf(modelDefinition('n')).entries.get('n')!
    const request = requestOf({ model: 'm', input: 'Hello' })
    expect(conversationNames(callerOf(1), request, another)).not.toEqual(responsesNames('Hello'))
    const lanes = model.lanes.map((lane) => ({ ...lane, weight: 2 }))
    expect(conversationNames(callerOf(1), request, { ...model, lanes })).not.toEqual(responsesNames('Hello'))
  })
})

it('without a word of a user there is nothing to know it by', () => {
  expect(chatNames([says('system', 'Speak.')])).toEqual([])
  expect(responsesNames([{ type: 'reasoning', id: 'rs_1', summary: [] }, says('developer', 'x')])).toEqual([])
})
