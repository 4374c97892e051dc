import { expect, it } from 'vitest'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { startRemoteSetup } from './remote-provider-server.ts'
import { createFlood, sendAndStall } from './slow-reader.ts'

/** A minute in production; the test does not wait for that. */
const overrides = { stallMs: 500 }

it('a client that reads nothing for too long is disconnected, its provider call is cancelled, and the output is charged', async () => {
  const flood = createFlood()
  const { server, far, ...setup } = await startRemoteSetup(
    { flood: flood.script },
    { flood: { lanes: ['flood'] } },
    { overrides },
  )
  try {
    const account = await openAccount(server)
    const socket = await sendAndStall(server, account.key, 'flood')
    const receipt = await until(async () => (await account.receipts()).find(({ state }) => state !== 'open'))
    await far.providerAnswers[0]?.closed
    expect(flood.state.ended).toBe(false)
    expect(receipt).toMatchObject({ state: 'settled', outcome: 'client_gone', estimated: 1 })
    // A byte of words in each frame that was read, and never more than were sent.
    expect(receipt.output).toBeGreaterThan(0)
    expect(receipt.output).toBeLessThanOrEqual(Math.ceil(flood.state.sent / 4))
    await expectBalancedLedger(server)
    socket.destroy()
  } finally {
    await setup.close()
  }
})
