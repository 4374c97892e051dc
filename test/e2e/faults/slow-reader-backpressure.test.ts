import { once } from 'node:events'
import { expect, it } from 'vitest'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { startRemoteSetup } from './remote-provider-server.ts'
import { createFlood, sendAndStall } from './slow-reader.ts'

it('a turn that is stopped does not wait for a client that stops reading', async () => {
  const flood = createFlood()
  const { server, far, ...setup } = await startRemoteSetup({ flood: flood.script }, { flood: { lanes: ['flood'] } })
  try {
    const account = await openAccount(server)
    const socket = await sendAndStall(server, account.key, 'flood')
    await flood.stalled()
    server.serving.abortTurns()
    await far.providerAnswers[0]?.closed
    // The client has still read nothing.
    const receipt = await until(async () => (await account.receipts()).find(({ state }) => state !== 'open'))
    expect(receipt).toMatchObject({ outcome: 'drained' })
    await expectBalancedLedger(server)
    socket.destroy()
  } finally {
    await setup.close()
  }
})

it('backpressure from a client that stops reading pauses the provider, and the rest follows when it resumes', async () => {
  const flood = createFlood()
  const { server, ...setup } = await startRemoteSetup({ flood: flood.script }, { flood: { lanes: ['flood'] } })
  try {
    const account = await openAccount(server)
    const socket = await sendAndStall(server, account.key, 'flood')
    await flood.stalled()
    expect(flood.state.ended, `${flood.state.sent} frames`).toBe(false)

    let text = ''
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1').replaceAll(/x{9,}/g, '')
    })
    socket.resume()
    await once(socket, 'close')
    expect(text).toContain('[DONE]')
    expect(text.match(/"content":"a"/g)).toHaveLength(flood.words.length)
    const receipt = await until(async () => (await account.receipts()).find(({ state }) => state !== 'open'))
    expect(receipt).toMatchObject({ outcome: 'completed', estimated: 0 })
    await expectBalancedLedger(server)
  } finally {
    await setup.close()
  }
})
