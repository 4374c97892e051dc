import { describe, expect, it } from 'vitest'
import { call, message, messagesOf, requestOf, result } from '../../../test/fixtures/protocols/chat/translate.ts'
import { relayTarget } from '../../../test/fixtures/protocols/lane-target.ts'
import { chatDialect } from './dialects.ts'
import { rewriteRequest } from './write-request.ts'

function relayed(name: string, messages: readonly object[]) {
  const request = requestOf({ messages })
  const { body, leftOut } = rewriteRequest(request, relayTarget(chatDialect(name)))
  const text = String(body)
  return { sent: JSON.parse(text).messages, leftOut, text }
}

const called = (id: string) => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }],
})
const answered = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'ok' })

describe('messages that are relayed', () => {
  it('lose the names that a server refuses, which is reported; names of tools stay', () => {
    const messages = [{ role: 'user', name: 'ann', content: 'hi' }, called('x'), answered('x')]
    expect(relayed('groq', messages)).toMatchObject({
      sent: [{ role: 'user', content: 'hi' }, called('x'), answered('x')],
      leftOut: ['messages.name'],
    })
    expect(relayed('openai', messages)).toMatchObject({ sent: messages, leftOut: [] })
    expect(relayed('groq', messages.slice(1))).toMatchObject({ sent: messages.slice(1), leftOut: [] })
  })

  it('lose members of other answers that a server refuses', () => {
    const content = 'ok'
    const foreign = { reasoning_content: 'hm', reasoning_details: [{}], annotations: [] }
    const answer = { role: 'assistant', content, ...foreign, reasoning: 'hm' }
    const messages = [{ role: 'user', content: 'hi' }, answer, { role: 'user', content: 'reasoning_content' }]
    expect(relayed('groq', messages).sent[1]).toEqual({ role: 'assistant', content, reasoning: 'hm' })
    expect(relayed('mistral', messages).sent[1]).toEqual({ role: 'assistant', content })
    expect(relayed('openrouter', messages).sent).toEqual(messages)
    const declined = { role: 'assistant', content: null, refusal: 'No.' }
    expect(relayed('groq', [messages[0]!, declined]).sent[1]).toEqual({ role: 'assistant', content: 'No.' })
  })

  it('have the ids of calls that a server takes, the same in call and result, as a translation has', () => {
    const id = 'call_of_another_lane'
    const { sent } = relayed('mistral', [{ role: 'user', content: 'hi' }, called(id), answered(id)])
    const [{ id: mapped }] = sent[1].tool_calls
    expect(mapped).toMatch(/^[a-zA-Z0-9]{9}$/)
    expect(sent[2].tool_call_id).toBe(mapped)
    const translated = messagesOf([message('user', 'hi'), call(id), result(id, 'ok')], 'mistral')
    expect(translated[2]!.tool_call_id).toBe(mapped)
    // Its own stay its own.
    expect(relayed('mistral', [called('Abc123xyz'), answered('Abc123xyz')]).sent).toEqual([
      called('Abc123xyz'),
      answered('Abc123xyz'),
    ])
  })

  it('say of a beginning that it is one, where the server would refuse it', () => {
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'Dear' },
    ]
    const begun = [messages[0], { ...messages[1], prefix: true }]
    expect(relayed('mistral', messages).sent).toEqual(begun)
    expect(messagesOf([message('user', 'hi'), message('assistant', 'Dear')], 'mistral')).toEqual(begun)
    expect(relayed('openai', messages).sent).toEqual(messages)
    expect(relayed('mistral', [...messages, { role: 'user', content: 'x' }]).text).not.toContain('prefix')
  })

  it('stay the client’s own bytes where nothing has to fit', () => {
    const messages = [{ role: 'user', content: 'the "developer" and the "name" of an assistant' }]
    for (const name of ['generic', 'groq', 'mistral']) {
      expect(relayed(name, messages).text).toContain(JSON.stringify(messages))
    }
  })
})
