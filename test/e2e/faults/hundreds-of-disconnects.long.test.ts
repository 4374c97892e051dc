import { expect, it } from 'vitest'
import { chunk, USAGE, usageChunk, WORDS } from '../../fakes/chat-frames.ts'
import { delivered } from '../../fakes/delivered.ts'
import type { Script } from '../../fakes/fault-upstream.ts'
import { randomFrom } from '../../fixtures/lib/seeded-random.ts'
import { openRawSocket } from '../../support/raw-socket.ts'
import { hello } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { startRemoteSetup } from './remote-provider-server.ts'

const ROUNDS = 4
const CLIENTS = 100

const LANES = {
  drain: 'on_client_gone: drain',
  estimate: 'on_client_gone: cancel_estimate',
  free: 'on_client_gone: cancel_free',
  hidden: 'dialect: openai',
} as const
const LANE_NAMES = Object.keys(LANES) as (keyof typeof LANES)[]

/** Takes its time, and uses a connection for one answer only. */
const slowly: Script = async (providerAnswer) => {
  await providerAnswer.head()
  for (let times = 0; times < 20; times++) {
    await providerAnswer.frames(...WORDS.map((content) => chunk(providerAnswer.model, { delta: { content } })))
    await delivered()
  }
  await providerAnswer.frames(
    chunk(providerAnswer.model, { finish: 'stop' }),
    usageChunk(providerAnswer.model, USAGE),
    '[DONE]',
  )
  await providerAnswer.end()
  providerAnswer.close()
}

const openHandles = (kind: string) => process.getActiveResourcesInfo().filter((each) => each === kind).length

it('hundreds of random disconnects leave one closed receipt each, and no turn, socket or timer', async () => {
  const models = Object.fromEntries(LANE_NAMES.map((upstream) => [upstream, { upstream, lanes: ['slowly'] }]))
  const { server, far, close } = await startRemoteSetup({ slowly }, models, { upstreams: LANES })
  try {
    const account = await openAccount(server, { credit: '1000' })
    const credit = (await account.wallet()).balance
    const seed = 20_261_121
    const below = randomFrom(seed)
    const sendAndDisconnect = async () => {
      const body = JSON.stringify({
        model: LANE_NAMES[below(LANE_NAMES.length)],
        stream: true,
        messages: hello('Say something long'),
      })
      const patience = below(2500)
      const socket = await openRawSocket(server)
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\n` +
          `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      )
      await until(() => socket.received.length > patience)
      socket.destroy()
      await socket.closed
    }
    const closed = async () => (await account.receipts()).filter((receipt) => receipt.state !== 'open')

    const sockets = openHandles('TCPSocketWrap')
    const timers: number[] = []
    for (let round = 1; round <= ROUNDS; round++) {
      await Promise.all(Array.from({ length: CLIENTS }, sendAndDisconnect))
      await until(async () => (await closed()).length === round * CLIENTS && server.serving.turnsRunning === 0)
      // A socket that stays would be waited for until the runner ends the test.
      await until(() => openHandles('TCPSocketWrap') <= sockets)
      far.forget()
      timers.push(openHandles('Timeout'))
    }

    const receipts = await account.receipts()
    expect(receipts).toHaveLength(ROUNDS * CLIENTS)
    const outcomes: Record<string, number> = {}
    for (const { outcome, state: how } of receipts) {
      outcomes[`${outcome}, ${how}`] = (outcomes[`${outcome}, ${how}`] ?? 0) + 1
    }
    console.info(`hang-ups: seed ${seed}, ${JSON.stringify(outcomes)}, timers ${timers}`)
    const charged = receipts.reduce((sum, { charge_nano }) => sum + (charge_nano ?? 0n), 0n)
    expect(credit - (await account.wallet()).balance).toBe(charged)
    // Those of the house itself come and go.
    expect(timers.at(-1)).toBeLessThanOrEqual(timers[0]! + 5)
    await expectBalancedLedger(server)
  } finally {
    await close()
  }
}, 60_000)
