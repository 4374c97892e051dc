import { describe, expect, it } from 'vitest'
import { openAccount } from '../../support/test-account.ts'
import { sealsIn, shortly } from './summarize-events.ts'
import { createTalker, type Manner, type Talker } from './wire-clients.ts'
import { type Asked, type ProviderName, useWiresHouse, WIRES } from './wires-server.ts'

const CLIENTS: readonly Manner[] = ['chat', 'carrying', 'by id']
const SIGNING = WIRES.filter((wire) => wire !== 'chat')
const LOOP = 'Use look_up then ping then list.'
const ANSWER = 'The tool said: "look_up-gave-0" and "ping-gave-1" and "list-gave-2".'

const house = useWiresHouse()
const talkerOf = async (manner: Manner, effort = 'low'): Promise<Talker> => {
  const { server } = house()
  return createTalker(server, await openAccount(server), manner, { more: { effort } })
}
const lastOf = (name: ProviderName): Asked | undefined => house().asked(name).at(-1)

/** What is behind a model may be another one, be paid by somebody else, or belong to somebody else. */
const OTHERS = SIGNING.flatMap((wire) => [
  { wire, what: 'another model of the same provider', model: `${wire}-sibling`, provider: wire },
  { wire, what: 'the same model with another credential', model: `${wire}-other-key`, provider: wire },
  { wire, what: 'another provider of the same wire', model: `${wire}-2`, provider: `${wire}-2` as const },
])

describe.each(CLIENTS)('of a client that goes on %s', (manner) => {
  it.each(OTHERS)('nothing that $wire has signed goes to $what', async ({ wire, model, provider }) => {
    const talker = await talkerOf(manner)
    await talker.ask(wire, LOOP)
    const [first] = await askedAfter(wire, () => talker.ask(model), provider)
    expect(sealsIn(first)).toEqual([])
    const [second] = await askedAfter(wire, () => talker.ask(wire), wire)
    expect(sealsIn(second), shortly(second).join(' ')).toHaveLength(1)
    const end = await talker.ask(model)
    expect([end.calls, end.words]).toEqual([[], ANSWER])
    expect(sealsIn(lastOf(provider))).toHaveLength(1)
    expect(house().asked(wire).length + (provider === wire ? 0 : house().asked(provider).length)).toBe(4)
  })

  const askedAfter = async (_wire: string, act: () => Promise<unknown>, provider: ProviderName): Promise<Asked[]> => {
    const before = house().asked(provider).length
    await act()
    return house().asked(provider).slice(before)
  }

  it.each(['chat', 'responses', 'gemini', 'anthropic-2'] as const)(
    'a model that is told how long to think goes on from the calls of %s without, and thinks again afterwards',
    async (other) => {
      const talker = await talkerOf(manner)
      const thinkingOf = () => (lastOf('anthropic')?.thinking as { type: string } | undefined)?.type
      expect((await talker.ask(other, LOOP)).calls).toEqual(['look_up'])
      expect((await talker.ask('anthropic-budget')).calls).toEqual(['ping'])
      expect(thinkingOf()).toBe('disabled')
      const { calls, headers } = await talker.ask('anthropic-budget')
      expect(calls).toEqual(['list'])
      expect(thinkingOf()).toBe('disabled')
      const effort = manner === 'chat' ? 'reasoning_effort' : 'reasoning.effort'
      expect(headers.get('x-millrace-ignored-fields')).toContain(effort)
      expect((await talker.ask(other)).words).toBe(ANSWER)

      expect((await talker.ask('anthropic-budget', 'Use note now.')).calls).toEqual(['note'])
      expect(thinkingOf()).toBe('enabled')
      expect((await talker.ask('anthropic-budget')).words).toBe('The tool said: "note-gave-3".')
      expect(thinkingOf()).toBe('enabled')
    },
  )

  it('a model that was told how long to think and one that decides itself go on from each other', async () => {
    const talker = await talkerOf(manner)
    await talker.ask('anthropic', LOOP)
    await talker.ask('anthropic-budget')
    expect(lastOf('anthropic')?.thinking).toMatchObject({ type: 'enabled' })
    await talker.ask('anthropic')
    expect((await talker.ask('anthropic-budget')).words).toBe(ANSWER)
    expect(sealsIn(lastOf('anthropic'))).toHaveLength(3)
  })

  it('who does not want it to think in the middle of a loop has its calls go on all the same', async () => {
    const { server } = house()
    const account = await openAccount(server)
    for (const model of [...SIGNING, 'anthropic-budget', 'gemini-budget']) {
      const efforts = ['low', 'none', 'low', 'high']
      let at = 0
      const more = {
        get effort() {
          return efforts[at++ % efforts.length]
        },
      }
      const talker = createTalker(server, account, manner, { more })
      expect((await talker.loop(model, LOOP)).words, model).toBe(ANSWER)
    }
  })
})
