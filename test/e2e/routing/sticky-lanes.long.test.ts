import { afterAll, describe, expect, it } from 'vitest'
import { get } from '../../support/send-chat.ts'
import { nanoOf, openAccount } from '../../support/test-account.ts'
import { type ClientMode, createConversationClient, type TurnOutput } from '../wires/wire-clients.ts'
import { PICO, type ProviderName, useWiresServer, type Wire } from '../wires/wires-server.ts'

/** Two lanes of which neither is better, and what speaks on them. */
const EVEN: readonly (readonly [Wire, ProviderName])[] = [
  ['chat', 'chat-2'],
  ['responses', 'responses-2'],
  ['anthropic', 'anthropic-2'],
  ['gemini', 'anthropic-2'],
]
const CLIENT_MODES: readonly ClientMode[] = ['chat', 'carrying', 'by id', 'by reference']
const PRICE = '{ input: "0.300001", cached_input: "0.075003", cache_write: "0.375007", output: "1.200007" }'

const modelText = (id: string, lanes: readonly string[]): string =>
  `  - { id: ${id}, efforts: [none, low], context_tokens: 128000, max_output_tokens: 8192, price: ${PRICE}, lanes: [${lanes
    .map((upstream) => `{ upstream: ${upstream}, model: mind }`)
    .join(', ')}] }\n`

const setup = useWiresServer({
  models: EVEN.map(([one, other]) => modelText(`even-${one}`, [one, other])).join(''),
  counting: () => ({ input: 4000, cached: 0, output: 5 }),
})

/** Five requests: four tools in turn, and the answer. */
const LOOP = 'Use look_up then ping then list then note.'
const ROUNDS = 4
/** Long enough that a provider keeps it. */
const LONG = `${'All of this was said before. '.repeat(400)}${LOOP}`

const began = new Map<string, number>()

describe.each(CLIENT_MODES)('for a client that continues %s', (mode) => {
  const conversationClient = async () => {
    const { server } = setup()
    const account = await openAccount(server)
    return { account, ...createConversationClient(server, account, mode) }
  }
  const timesOf = (names: readonly ProviderName[]) => names.map((name) => setup().receivedRequest(name).length)

  it.each(EVEN)('twenty requests stay on the first lane, %s or %s', async (one, other) => {
    const { loop } = await conversationClient()
    for (let round = 0; round < ROUNDS; round++) await loop(`even-${one}`, LOOP)
    const times = timesOf([one, other])
    expect(times.toSorted()).toEqual([0, 5 * ROUNDS])
    began.set(times[0] === 0 ? 'second' : 'first', (began.get(times[0] === 0 ? 'second' : 'first') ?? 0) + 1)
  })

  it.each(EVEN)('moves once and stays when its lane %s or %s is down', async (one, other) => {
    const { account, sendTurn } = await conversationClient()
    const { server } = setup()
    await sendTurn(`even-${one}`, LONG)
    await sendTurn(`even-${one}`)
    const [home, away] = timesOf([one, other])[0] === 2 ? [one, other] : [other, one]
    expect(timesOf([home, away])).toEqual([2, 0])

    setup().isDown(home, true)
    const lost = await lostBy(await sendTurn(`even-${one}`))
    expect(timesOf([away])).toEqual([1])
    expect(lost?.tokens).toBeGreaterThan(1000)
    expect(nanoOf(lost!.cost)).toBe((BigInt(lost!.tokens) * (PICO.input - PICO.cachedInput) + 999n) / 1000n)

    setup().isDown(home, false)
    const [homeBefore] = timesOf([home])
    const emitted = await sendTurn(`even-${one}`)
    expect(emitted.calls).toEqual(['note'])
    expect(await lostBy(emitted)).toBeNull()
    expect(timesOf([home, away])).toEqual([homeBefore, 2])

    async function lostBy({
      requestId,
    }: TurnOutput): Promise<{ readonly tokens: number; readonly cost: string } | null> {
      return (await get(server, account, `/requests/${requestId}`)).json.cache_lost
    }
  })
})

afterAll(() => {
  console.info('conversations by their lane', Object.fromEntries(began))
  // Sixteen draws of two.
  expect(began.size).toBe(2)
})
