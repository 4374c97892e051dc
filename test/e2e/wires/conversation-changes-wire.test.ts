import { describe, expect, it } from 'vitest'
import { openAccount } from '../../support/test-account.ts'
import { sealsIn, shortly, toldIn } from './summarize-events.ts'
import { createTalker, type Manner, type Talker } from './wire-clients.ts'
import { type ProviderName, useWiresHouse, WIRES, type Wire, type WiresHouse } from './wires-server.ts'

const PAIRS = WIRES.flatMap((one) => WIRES.filter((other) => other !== one).map((other) => [one, other] as const))
const CLIENTS: readonly Manner[] = ['chat', 'carrying', 'by id']
/** Which of them has something that only it can read. */
const SIGNS: Readonly<Record<Wire, boolean>> = { chat: false, responses: true, anthropic: true, gemini: true }
const SENTINEL = 'skip_thought_signature_validator'

const LOOP = 'Use look_up then ping then list then note.'
/** What a provider is told of the loop, whoever it is, when it has gone so far. */
const TOLD = [
  ...['user', 'look_up()', 'look_up-gave-0', 'ping()', 'ping-gave-1', 'list()', 'list-gave-2', 'note()', 'note-gave-3'],
]

const house = useWiresHouse()
const talkerOf = async (manner: Manner): Promise<Talker> => {
  const { server } = house()
  return createTalker(server, await openAccount(server), manner)
}

/** The last that a provider was asked: what it was told, and what it got back of its own. */
const heardBy = (name: ProviderName) => {
  const asked = house().asked(name).at(-1)
  return { told: toldIn(asked), own: sealsIn(asked), all: shortly(asked), times: house().asked(name).length }
}

/** Nothing of anybody else's, and of its own as much as there was. */
function expectOwn(name: ProviderName, count: number): void {
  const { own, all } = heardBy(name)
  expect(own, all.join(' ')).toHaveLength(count)
  for (const seal of own) expect(seal).toMatch(new RegExp(`^(?:sealed|signed)-by-${name}-1-\\d+$`))
}

describe.each(CLIENTS)('in the middle of a loop, of a client that goes on %s,', (manner) => {
  it.each(PAIRS)('from %s to %s and back: by the id of the model', async (one, other) => {
    const talker = await talkerOf(manner)
    const steps = [await talker.ask(one, LOOP), await talker.ask(other), await talker.ask(one), await talker.ask(other)]
    expect(steps.map(({ calls }) => calls)).toEqual([['look_up'], ['ping'], ['list'], ['note']])
    expect(heardBy(one).told).toEqual(TOLD.slice(0, 5))
    expectOwn(one, SIGNS[one] ? 1 : 0)
    expect(heardBy(other).told).toEqual(TOLD.slice(0, 7))
    expectOwn(other, SIGNS[other] ? 1 : 0)
    const end = await talker.ask(one)
    expect(end.words).toBe('The tool said: "look_up-gave-0" and "ping-gave-1" and "list-gave-2" and "note-gave-3".')
    expect(heardBy(one).told).toEqual(TOLD)
    expectOwn(one, SIGNS[one] ? 2 : 0)
    expect([heardBy(one).times, heardBy(other).times]).toEqual([3, 2])
    for (const name of [one, other]) expectSentinels(house(), name)
  })

  it.each(PAIRS)('from %s to %s and back: when the first one fails', async (one, other) => {
    const talker = await talkerOf(manner)
    const model = `${one}-then-${other}`
    const second = `${other}-2` as const
    expect((await talker.ask(model, LOOP)).calls).toEqual(['look_up'])
    house().isDown(one, true)
    expect((await talker.ask(model)).calls).toEqual(['ping'])
    expect(heardBy(second).told).toEqual(TOLD.slice(0, 3))
    expectOwn(second, 0)
    expect((await talker.ask(model)).calls).toEqual(['list'])
    expectOwn(second, SIGNS[other] ? 1 : 0)
    house().isDown(one, false)
    house().isDown(second, true)
    const end = await talker.loop(model)
    expect(end).toEqual({
      called: ['note'],
      words: 'The tool said: "look_up-gave-0" and "ping-gave-1" and "list-gave-2" and "note-gave-3".',
    })
    expect(heardBy(one).told).toEqual(TOLD)
    expectOwn(one, SIGNS[one] ? 2 : 0)
    for (const name of [one, second]) expectSentinels(house(), name)
  })
})

/** Where a gemini lane gets calls that it has not made, the first of each turn says so. */
function expectSentinels(wires: WiresHouse, name: ProviderName): void {
  for (const asked of wires.asked(name)) {
    const all = shortly(asked)
    const made = all.flatMap((each, at) => (each.endsWith('()') ? [all[at - 1]] : []))
    const sentinels = made.filter((before) => before === SENTINEL)
    const own = made.filter((before) => before?.startsWith('signed-by-'))
    if (name.startsWith('gemini')) expect(sentinels.length + own.length, all.join(' ')).toBe(made.length)
    else expect(sentinels).toEqual([])
  }
}
