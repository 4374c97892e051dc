import { afterAll, beforeAll, expect, it } from 'vitest'
import { chunk, WORDS } from '../../fakes/chat-frames.ts'
import { get, send } from '../../support/send-chat.ts'
import { framesOf } from '../../support/read-stream.ts'
import { openAccount } from '../../support/test-account.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { MESSAGES } from './send-to-faulty.ts'
import { type FarHouse, startFarHouse } from './remote-provider-server.ts'

let house: FarHouse
beforeAll(async () => {
  house = await startFarHouse(
    {
      // It says that it has finished, keeps the connection open, and never says another word.
      async forgetful(talk) {
        await talk.head()
        await talk.frames(chunk(talk.model, { delta: { role: 'assistant', content: WORDS[0] } }))
        await talk.frames(chunk(talk.model, { finish: 'stop' }))
      },
    },
    { forgetful: { lanes: ['forgetful'] } },
  )
})
afterAll(() => house.close())

it('a client gets its end from a server that has finished and forgets its counts, and pays an estimate', async () => {
  const account = await openAccount(house.server)
  const body = { model: 'forgetful', stream: true, messages: MESSAGES, stream_options: { include_usage: true } }
  const response = await send(house.server, account, body)
  const frames: string[] = []
  for await (const frame of framesOf(response)) frames.push(frame)
  expect(frames.at(-1)).toBe('data: [DONE]')
  const { usage } = JSON.parse(frames.at(-2)!.slice('data: '.length))
  const { json } = await get(house.server, account, `/requests/${response.headers.get('x-request-id')}`)
  expect(json).toMatchObject({ outcome: 'completed', tokens: { estimated: true }, charge: usage.millrace.charge })
  await expectBalancedLedger(house.server)
})
