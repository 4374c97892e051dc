import { beforeEach, describe, expect, it } from 'vitest'
import type { Fields } from '../../../src/lib/types.ts'
import { type Answer, answerOf, chat, get } from '../../support/send-chat.ts'
import { sendResponse } from '../../support/send-responses.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { createConversationClient } from './wire-clients.ts'
import { useWiresServer, WIRES } from './wires-server.ts'

/** What providers count of the next prompts as read from their cache. */
let cached = 0
const setup = useWiresServer({ counting: () => ({ input: 4000, cached, output: 5 }) })

beforeEach(() => {
  cached = 3000
})

const SYSTEM = 'You are a patient helper. '.repeat(200)
const tool = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object' } } })

/** A Chat client in its fourth turn. */
async function talk(account: TestAccount, model: string): Promise<Fields & { messages: Fields[]; tools: Fields[] }> {
  const body = { model, messages: [{ role: 'system', content: SYSTEM }] as Fields[], tools: [tool('add'), tool('sub')] }
  for (const words of ['One.', 'Two.', 'Three.']) {
    body.messages.push({ role: 'user', content: words })
    const answer = await chat(setup().server, account, body)
    expect(answer.status, JSON.stringify(answer.json)).toBe(200)
    expect(await brokenIn(account, answer)).toEqual({ at: null, broken: null })
    body.messages.push(answer.json.choices[0].message)
  }
  body.messages.push({ role: 'user', content: 'Four.' })
  return body
}

async function brokenIn(account: TestAccount, { requestId }: Pick<Answer, 'requestId'>) {
  const { json } = await get(setup().server, account, `/requests/${requestId}`)
  return { at: json.prefix_broken_at, broken: json.prefix_broken }
}

const LOST = { cached_tokens_lost: 2900, reasoning_items_lost: null }

describe.each(WIRES)('the receipt of a turn over %s', (wire) => {
  const play = async (change: (body: Awaited<ReturnType<typeof talk>>) => object) => {
    const account = await openAccount(setup().server)
    const body = await talk(account, wire)
    cached = 100
    const answer = await chat(setup().server, account, { ...body, ...change(body) })
    expect(answer.status, JSON.stringify(answer.json)).toBe(200)
    return brokenIn(account, answer)
  }

  it('names nothing while the client only adds', async () => {
    expect(await play(() => ({}))).toEqual({ at: null, broken: null })
  })

  it('names the message that the client has changed', async () => {
    const at = 'messages[3]'
    const changed = await play(({ messages }) => ({
      messages: messages.map((each, index) => (index === 3 ? { ...each, content: 'Another two.' } : each)),
    }))
    expect(changed).toEqual({ at, broken: { by: 'client', ...LOST } })
  })

  it('names the system prompt', async () => {
    const changed = await play(({ messages: [, ...others] }) => ({
      messages: [{ role: 'system', content: `It is ten past nine. ${SYSTEM}` }, ...others],
    }))
    expect(changed).toEqual({ at: 'system', broken: { by: 'client', ...LOST } })
  })

  it('names new tools, and the same ones in another order', async () => {
    const more = await play(({ tools }) => ({ tools: [...tools, tool('mul')] }))
    expect(more).toEqual({ at: 'tools', broken: { by: 'client', ...LOST } })
    cached = 3000
    const reordered = await play(({ tools }) => ({ tools: tools.toReversed() }))
    expect(reordered).toEqual({ at: 'tools', broken: { by: 'tool_order', ...LOST } })
  })
})

describe('the receipt', () => {
  it('names the change of lane, once', async () => {
    const { server, isDown } = setup()
    const account = await openAccount(server)
    const body = await talk(account, 'chat-then-anthropic')
    cached = 0
    isDown('chat', true)
    const moved = await chat(server, account, body)
    expect(await brokenIn(account, moved)).toEqual({
      at: 'lane',
      broken: { by: 'lane_change', cached_tokens_lost: 3000, reasoning_items_lost: null },
    })
    const messages = [...body.messages, moved.json.choices[0].message, { role: 'user', content: 'Five.' }]
    expect(await brokenIn(account, await chat(server, account, { ...body, messages }))).toEqual({
      at: null,
      broken: null,
    })
    setup().takeRefused()
  })

  it('names the compaction that has replaced a conversation', async () => {
    const { server } = setup()
    const account = await openAccount(server)
    const ask = async (input: readonly object[]) => {
      const answer = await answerOf(
        await sendResponse(server, account, { model: 'anthropic', input, store: false, prompt_cache_key: 'mine' }),
      )
      expect(answer.status, JSON.stringify(answer.json)).toBe(200)
      return answer
    }
    const user = (text: string) => ({ type: 'message', role: 'user', content: text })
    const first = await ask([user(SYSTEM)])
    const context = [user(SYSTEM), ...first.json.output]
    const compacted = await ask([...context, { type: 'compaction_trigger' }])
    const second = await ask([...compacted.json.output, user('And now?')])
    expect(await brokenIn(account, second)).toEqual({
      at: 'input[0]',
      broken: { by: 'compaction', cached_tokens_lost: null, reasoning_items_lost: null },
    })
    const third = await ask([...compacted.json.output, user('And now?'), ...second.json.output, user('And then?')])
    expect(await brokenIn(account, third)).toEqual({ at: null, broken: null })
  })

  it('names us where the client has changed nothing, and the reasoning that a provider no longer takes', async () => {
    const { server, forgets, takeRefused } = setup()
    const account = await openAccount(server)
    const client = createConversationClient(server, account, 'carrying', {
      more: { effort: 'low', instructions: SYSTEM },
    })
    await client.sendTurn('responses', 'Use look_up then ping then list.')
    await client.sendTurn('responses')
    forgets('responses')
    cached = 1000
    expect(await brokenIn(account, await client.sendTurn('responses'))).toEqual({
      at: 'input[1]',
      broken: { by: 'gateway', cached_tokens_lost: 2000, reasoning_items_lost: 2 },
    })
    expect(takeRefused()).toHaveLength(1)
  })
})

it('a conversation that no node knows goes to the lane that has sealed its reasoning', async () => {
  const { server, isDown, receivedRequest, takeRefused } = setup()
  const account = await openAccount(server)
  const ask = async (input: readonly object[]) => {
    const body = { model: 'responses-then-anthropic', input, store: false, reasoning: { effort: 'low' } }
    return answerOf(await sendResponse(server, account, { ...body, include: ['reasoning.encrypted_content'] }))
  }
  const user = (text: string) => ({ type: 'message', role: 'user', content: text })
  isDown('responses', true)
  const first = await ask([user('Hello.')])
  isDown('responses', false)
  takeRefused()
  // With another beginning it is recognized by nothing else.
  const second = await ask([user('Good evening.'), ...first.json.output, user('And now?')])
  expect([second.status, receivedRequest('anthropic-2').length, receivedRequest('responses').length]).toEqual([
    200, 2, 1,
  ])
  await ask([user('Something else.'), user('And now?')])
  expect(receivedRequest('responses')).toHaveLength(2)
})
