import { afterAll, beforeAll, expect, it } from 'vitest'
import { chunk } from '../../fakes/chat-frames.ts'
import { answerOf, send } from '../../support/send-chat.ts'
import { readStream } from '../../support/read-stream.ts'
import { openAccount } from '../../support/test-account.ts'
import { type FarHouse, startFarHouse } from '../faults/remote-provider-server.ts'

const PATCH = { type: 'custom', custom: { name: 'patch', description: 'Patches' } }
const CALL = {
  index: 0,
  id: 'their_1',
  type: 'function',
  function: { name: 'patch', arguments: '{"input":"*** Begin"}' },
}
const MESSAGES = [
  { role: 'user', content: 'Patch it' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_0', type: 'custom', custom: { name: 'patch', input: 'a' } }],
  },
  { role: 'tool', tool_call_id: 'call_0', content: 'done' },
]

let house: FarHouse
beforeAll(async () => {
  const patches = {
    async patches(talk: Parameters<Parameters<typeof startFarHouse>[0][string]>[0]) {
      await talk.head()
      await talk.frames(chunk(talk.model, { delta: { role: 'assistant', tool_calls: [CALL] } }))
      await talk.frames(chunk(talk.model, { finish: 'tool_calls' }), '[DONE]')
      await talk.end()
    },
  }
  const upstreams = { plain: '', knows: 'dialect: openai' }
  const models = { plain: { lanes: ['patches'], upstream: 'plain' }, knows: { lanes: ['patches'], upstream: 'knows' } }
  house = await startFarHouse(patches, models, { upstreams })
})
afterAll(() => house?.close())

it.each(['json', 'stream'])(
  'go as functions to a server that has nothing else, and come back as they are: %s',
  async (delivery) => {
    house.far.forget()
    const account = await openAccount(house.server)
    const asked = { model: 'plain', stream: delivery === 'stream', messages: MESSAGES, tools: [PATCH] }
    const answer = await send(house.server, account, asked)
    const calls =
      delivery === 'stream'
        ? (await readStream(answer)).chunks.flatMap(({ choices }) => choices[0]?.delta?.tool_calls ?? [])
        : (await answerOf(answer)).json.choices[0].message.tool_calls
    const [told] = house.far.talks
    expect(told?.asked.tools).toMatchObject([{ type: 'function', function: { name: 'patch' } }])
    expect((told?.asked.messages as { tool_calls?: unknown }[] | undefined)?.[1]?.tool_calls).toMatchObject([
      { type: 'function', function: { name: 'patch', arguments: '{"input":"a"}' } },
    ])
    expect(calls[0]).toMatchObject({ type: 'custom', custom: { name: 'patch' } })
    const input = calls.map((call: { custom?: { input?: string } }) => call.custom?.input ?? '').join('')
    expect(input).toBe('*** Begin')
  },
)

it('go as they are to a server that knows them', async () => {
  house.far.forget()
  await send(house.server, await openAccount(house.server), { model: 'knows', messages: MESSAGES, tools: [PATCH] })
  expect(house.far.talks[0]?.asked.tools).toEqual([PATCH])
})
