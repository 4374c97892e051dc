import { afterAll, beforeAll, expect, it } from 'vitest'
import { chunk, WORDS } from '../../fakes/chat-frames.ts'
import { framesOf } from '../../support/read-stream.ts'
import { get, send } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { type RemoteSetup, startRemoteSetup } from './remote-provider-server.ts'
import { MESSAGES } from './send-to-faulty.ts'

let setup: RemoteSetup
beforeAll(async () => {
  setup = await startRemoteSetup(
    {
      // It says that it has finished, keeps the connection open, and never says another word.
      async forgetful(providerAnswer) {
        await providerAnswer.head()
        await providerAnswer.frames(chunk(providerAnswer.model, { delta: { role: 'assistant', content: WORDS[0] } }))
        await providerAnswer.frames(chunk(providerAnswer.model, { finish: 'stop' }))
      },
    },
    { forgetful: { lanes: ['forgetful'] } },
  )
})
afterAll(() => setup.close())

it('an answer without usage ends normally and is charged by an estimate', async () => {
  const account = await openAccount(setup.server)
  const body = { model: 'forgetful', stream: true, messages: MESSAGES, stream_options: { include_usage: true } }
  const response = await send(setup.server, account, body)
  const frames: string[] = []
  for await (const frame of framesOf(response)) frames.push(frame)
  expect(frames.at(-1)).toBe('data: [DONE]')
  const { usage } = JSON.parse(frames.at(-2)!.slice('data: '.length))
  const { json } = await get(setup.server, account, `/requests/${response.headers.get('x-request-id')}`)
  expect(json).toMatchObject({ outcome: 'completed', tokens: { estimated: true }, charge: usage.millrace.charge })
  await expectBalancedLedger(setup.server)
})
