import { afterAll, beforeAll, expect, it } from 'vitest'
import { chunk } from '../../fakes/chat-frames.ts'
import { readStream } from '../../support/read-stream.ts'
import { answerOf, send } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { type RemoteSetup, startRemoteSetup } from '../faults/remote-provider-server.ts'

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

let setup: RemoteSetup
beforeAll(async () => {
  const patches = {
    async patches(providerAnswer: Parameters<Parameters<typeof startRemoteSetup>[0][string]>[0]) {
      await providerAnswer.head()
      await providerAnswer.frames(chunk(providerAnswer.model, { delta: { role: 'assistant', tool_calls: [CALL] } }))
      await providerAnswer.frames(chunk(providerAnswer.model, { finish: 'tool_calls' }), '[DONE]')
      await providerAnswer.end()
    },
  }
  const upstreams = { plain: '', knows: 'dialect: openai' }
  const models = { plain: { lanes: ['patches'], upstream: 'plain' }, knows: { lanes: ['patches'], upstream: 'knows' } }
  setup = await startRemoteSetup(patches, models, { upstreams })
})
afterAll(() => setup?.close())

it.each(['json', 'stream'])(
  'custom tools become functions where needed and return as custom tools: %s',
  async (delivery) => {
    setup.far.forget()
    const account = await openAccount(setup.server)
    const receivedRequest = { model: 'plain', stream: delivery === 'stream', messages: MESSAGES, tools: [PATCH] }
    const answer = await send(setup.server, account, receivedRequest)
    const calls =
      delivery === 'stream'
        ? (await readStream(answer)).chunks.flatMap(({ choices }) => choices[0]?.delta?.tool_calls ?? [])
        : (await answerOf(answer)).json.choices[0].message.tool_calls
    const [reported] = setup.far.providerAnswers
    expect(reported?.receivedRequest.tools).toMatchObject([{ type: 'function', function: { name: 'patch' } }])
    expect(
      (reported?.receivedRequest.messages as { tool_calls?: unknown }[] | undefined)?.[1]?.tool_calls,
    ).toMatchObject([{ type: 'function', function: { name: 'patch', arguments: '{"input":"a"}' } }])
    expect(calls[0]).toMatchObject({ type: 'custom', custom: { name: 'patch' } })
    const input = calls.map((call: { custom?: { input?: string } }) => call.custom?.input ?? '').join('')
    expect(input).toBe('*** Begin')
  },
)

it('custom tools pass unchanged where supported', async () => {
  setup.far.forget()
  await send(setup.server, await openAccount(setup.server), { model: 'knows', messages: MESSAGES, tools: [PATCH] })
  expect(setup.far.providerAnswers[0]?.receivedRequest.tools).toEqual([PATCH])
})
