import { describe, expect, it } from 'vitest'
import { openAccount } from '../../support/test-account.ts'
import { deliveredIn, sealsIn, shortly } from './summarize-events.ts'
import { type ClientMode, type ConversationClient, createConversationClient } from './wire-clients.ts'
import { type ProviderName, useWiresServer, WIRES, type Wire, type WiresServer } from './wires-server.ts'

const PAIRS = WIRES.flatMap((one) => WIRES.filter((other) => other !== one).map((other) => [one, other] as const))
const CLIENTS: readonly ClientMode[] = ['chat', 'carrying', 'by id']
/** Which of them has something that only it can read. */
const SIGNS: Readonly<Record<Wire, boolean>> = { chat: false, responses: true, anthropic: true, gemini: true }
const SENTINEL = 'skip_thought_signature_validator'

const LOOP = 'Use look_up then ping then list then note.'
/** What any provider is sent of the loop when it has gone so far. */
const TOLD = [
  ...['user', 'look_up()', 'look_up-gave-0', 'ping()', 'ping-gave-1', 'list()', 'list-gave-2', 'note()', 'note-gave-3'],
]

const setup = useWiresServer()
const clientOf = async (mode: ClientMode): Promise<ConversationClient> => {
  const { server } = setup()
  return createConversationClient(server, await openAccount(server), mode)
}

/** The last that a provider was asked: what it was told, and what it got back of its own. */
const parsedBy = (name: ProviderName) => {
  const receivedRequest = setup().receivedRequest(name).at(-1)
  return {
    reported: deliveredIn(receivedRequest),
    own: sealsIn(receivedRequest),
    all: shortly(receivedRequest),
    times: setup().receivedRequest(name).length,
  }
}

/** Nothing of anybody else's, and of its own as much as there was. */
function expectOwn(name: ProviderName, count: number): void {
  const { own, all } = parsedBy(name)
  expect(own, all.join(' ')).toHaveLength(count)
  for (const seal of own) expect(seal).toMatch(new RegExp(`^(?:sealed|signed)-by-${name}-1-\\d+$`))
}

describe.each(CLIENTS)('in mid-loop, for a client that continues %s,', (mode) => {
  it.each(PAIRS)('from %s to %s and back, by model id', async (one, other) => {
    const conversationClient = await clientOf(mode)
    const steps = [
      await conversationClient.sendTurn(one, LOOP),
      await conversationClient.sendTurn(other),
      await conversationClient.sendTurn(one),
      await conversationClient.sendTurn(other),
    ]
    expect(steps.map(({ calls }) => calls)).toEqual([['look_up'], ['ping'], ['list'], ['note']])
    expect(parsedBy(one).reported).toEqual(TOLD.slice(0, 5))
    expectOwn(one, SIGNS[one] ? 1 : 0)
    expect(parsedBy(other).reported).toEqual(TOLD.slice(0, 7))
    expectOwn(other, SIGNS[other] ? 1 : 0)
    const end = await conversationClient.sendTurn(one)
    expect(end.words).toBe('The tool said: "look_up-gave-0" and "ping-gave-1" and "list-gave-2" and "note-gave-3".')
    expect(parsedBy(one).reported).toEqual(TOLD)
    expectOwn(one, SIGNS[one] ? 2 : 0)
    expect([parsedBy(one).times, parsedBy(other).times]).toEqual([3, 2])
    for (const name of [one, other]) expectSentinels(setup(), name)
  })

  it.each(PAIRS)('from %s to %s and back, by failover', async (one, other) => {
    const conversationClient = await clientOf(mode)
    const model = `${one}-then-${other}`
    const second = `${other}-2` as const
    expect((await conversationClient.sendTurn(model, LOOP)).calls).toEqual(['look_up'])
    setup().isDown(one, true)
    expect((await conversationClient.sendTurn(model)).calls).toEqual(['ping'])
    expect(parsedBy(second).reported).toEqual(TOLD.slice(0, 3))
    expectOwn(second, 0)
    expect((await conversationClient.sendTurn(model)).calls).toEqual(['list'])
    expectOwn(second, SIGNS[other] ? 1 : 0)
    setup().isDown(one, false)
    setup().isDown(second, true)
    const end = await conversationClient.loop(model)
    expect(end).toEqual({
      called: ['note'],
      words: 'The tool said: "look_up-gave-0" and "ping-gave-1" and "list-gave-2" and "note-gave-3".',
    })
    expect(parsedBy(one).reported).toEqual(TOLD)
    expectOwn(one, SIGNS[one] ? 2 : 0)
    for (const name of [one, second]) expectSentinels(setup(), name)
  })
})

/** Where a gemini lane gets calls that it has not made, the first of each turn says so. */
function expectSentinels(wires: WiresServer, name: ProviderName): void {
  for (const receivedRequest of wires.receivedRequest(name)) {
    const all = shortly(receivedRequest)
    const made = all.flatMap((each, at) => (each.endsWith('()') ? [all[at - 1]] : []))
    const sentinels = made.filter((before) => before === SENTINEL)
    const own = made.filter((before) => before?.startsWith('signed-by-'))
    if (name.startsWith('gemini')) expect(sentinels.length + own.length, all.join(' ')).toBe(made.length)
    else expect(sentinels).toEqual([])
  }
}
