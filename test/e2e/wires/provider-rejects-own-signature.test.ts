import { describe, expect, it } from 'vitest'
import { openAccount } from '../../support/test-account.ts'
import { sealsIn, shortly, toldIn } from './summarize-events.ts'
import { createTalker, type Manner } from './wire-clients.ts'
import { useWiresHouse } from './wires-server.ts'

const CLIENTS: readonly Manner[] = ['chat', 'carrying', 'by id']
const PLACES = [
  ['responses', 'responses'],
  ['anthropic', 'anthropic'],
  ['anthropic', 'anthropic-budget'],
  ['anthropic-closed', 'anthropic-closed'],
  ['gemini', 'gemini'],
] as const

const house = useWiresHouse()

describe.each(CLIENTS)('a client that goes on %s', (manner) => {
  it.each(PLACES)('is answered by %s over %s without it, once, and pays once', async (provider, model) => {
    const { server } = house()
    const account = await openAccount(server)
    const talker = createTalker(server, account, manner)
    await talker.ask(model, 'Use look_up then ping.')
    house().forgets(provider)

    const { calls } = await talker.ask(model)
    expect(calls).toEqual(['ping'])
    const [, refused, answered, ...more] = house().asked(provider)
    expect(more).toEqual([])
    expect(sealsIn(refused)).toHaveLength(1)
    expect(sealsIn(answered), shortly(answered).join(' ')).toEqual([])
    expect(toldIn(answered)).toEqual(['user', 'look_up()', 'look_up-gave-0'])
    expect(house().takeRefused()).toHaveLength(1)

    const receipts = await account.receipts()
    expect(receipts.map(({ outcome }) => outcome)).toEqual(['completed', 'completed'])
    expect(JSON.parse(String(receipts[1]?.attempts))).toHaveLength(2)
    const { balance, held } = await account.wallet()
    const charged = receipts.reduce((sum, { charge_nano }) => sum + (charge_nano ?? 0n), 0n)
    expect([balance, held]).toEqual([10_000_000_000n - charged, 0n])

    // What it has signed since is its own again.
    const end = await talker.ask(model)
    expect(end.words).toBe('The tool said: "look_up-gave-0" and "ping-gave-1".')
    house().takeRefused()
  })
})
