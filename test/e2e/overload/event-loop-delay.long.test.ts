import { expect, it } from 'vitest'
import { readStream } from '../../support/read-stream.ts'
import { chat, get, hello, send } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'
import { until } from '../../support/until.ts'
import { useServer } from '../../support/use-server.ts'
import { workHard } from './block-event-loop.ts'
import { openLoadReader } from './load.ts'

const server = useServer({
  config: `${TEST_CONFIG}\noverload: { loop_delay: 40ms, loop_delay_for: 200ms }\n`,
})

it('an overloaded event loop takes no new turns, finishes running ones, and recovers', async () => {
  const account = await openAccount(server())
  const load = openLoadReader(server())
  const body = { model: 'calm', stream: true, messages: hello('count to 40') }
  // A machine that is busy for a moment sends the first away, too.
  const running = readStream(
    await until(async () => {
      const response = await send(server(), account, body)
      return response.status === 200 && response
    }),
  )
  const stop = workHard()
  const refused = await until(async () => {
    const answer = await chat(server(), account)
    return answer.status === 503 && answer
  })
  expect(refused.json.error).toMatchObject({ code: 'server_is_overloaded', source: 'gateway' })
  expect(refused.headers.get('retry-after')).toMatch(/^[123]$/)
  expect(await load.shed('event_loop')).toBeGreaterThan(0)
  expect((await get(server(), account, '/models')).status).toBe(200)
  expect((await running).done).toBe(true)
  stop()
  await until(async () => (await chat(server(), account)).status === 200)
})
