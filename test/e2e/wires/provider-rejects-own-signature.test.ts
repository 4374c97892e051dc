import { describe, expect, it } from 'vitest'
import { openAccount } from '../../support/test-account.ts'
import { deliveredIn, sealsIn, shortly } from './summarize-events.ts'
import { type ClientMode, createConversationClient } from './wire-clients.ts'
import { useWiresServer } from './wires-server.ts'

const CLIENTS: readonly ClientMode[] = ['chat', 'carrying', 'by id']
const PLACES = [
  ['responses', 'responses'],
  ['anthropic', 'anthropic'],
  ['anthropic', 'anthropic-budget'],
  ['anthropic-closed', 'anthropic-closed'],
  ['gemini', 'gemini'],
] as const

const setup = useWiresServer()

describe.each(CLIENTS)('a client that continues %s', (mode) => {
  it.each(PLACES)('is answered by %s over %s without it, and charged once', async (provider, model) => {
    const { server } = setup()
    const account = await openAccount(server)
    const conversationClient = createConversationClient(server, account, mode)
    await conversationClient.sendTurn(model, 'Use look_up then ping.')
    setup().forgets(provider)

    const { calls } = await conversationClient.sendTurn(model)
    expect(calls).toEqual(['ping'])
    const [, refused, answered, ...more] = setup().receivedRequest(provider)
    expect(more).toEqual([])
    expect(sealsIn(refused)).toHaveLength(1)
    expect(sealsIn(answered), shortly(answered).join(' ')).toEqual([])
    expect(deliveredIn(answered)).toEqual(['user', 'look_up()', 'look_up-gave-0'])
    expect(setup().takeRefused()).toHaveLength(1)

    const receipts = await account.receipts()
    expect(receipts.map(({ outcome }) => outcome)).toEqual(['completed', 'completed'])
    expect(JSON.parse(String(receipts[1]?.attempts))).toHaveLength(2)
    const { balance, held } = await account.wallet()
    const charged = receipts.reduce((sum, { charge_nano }) => sum + (charge_nano ?? 0n), 0n)
    expect([balance, held]).toEqual([10_000_000_000n - charged, 0n])

    // What it has signed since is its own again.
    const end = await conversationClient.sendTurn(model)
    expect(end.words).toBe('The tool said: "look_up-gave-0" and "ping-gave-1".')
    setup().takeRefused()
  })
})
