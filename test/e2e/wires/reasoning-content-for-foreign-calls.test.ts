import { describe, expect, it } from 'vitest'
import { openAccount } from '../../support/test-account.ts'
import { shortly } from './summarize-events.ts'
import { createTalker, MANNERS } from './wire-clients.ts'
import { useWiresHouse, WIRES } from './wires-server.ts'

const house = useWiresHouse()

describe.each(MANNERS)('a loop of a client that goes on %s', (manner) => {
  it.each(WIRES)('goes from %s to a lane that wants its reasoning back in words, and back again', async (wire) => {
    const { server } = house()
    const talker = createTalker(server, await openAccount(server), manner)
    await talker.ask(wire, 'Use look_up then ping then list.')
    expect((await talker.ask('deep')).calls).toEqual(['ping'])
    expect((await talker.ask(wire)).calls).toEqual(['list'])
    const end = await talker.ask('deep')
    expect(end.words).toBe('The tool said: "look_up-gave-0" and "ping-gave-1" and "list-gave-2".')
  })

  it('goes on without thinking where nobody has kept it, and thinks where there is nothing to give back', async () => {
    const { server } = house()
    const talker = createTalker(server, await openAccount(server), manner)
    const thinkingOf = () => (house().asked('deep').at(-1)?.thinking as { readonly type: string } | undefined)?.type
    expect((await talker.ask('deep', 'Use look_up then ping.')).calls).toEqual(['look_up'])
    expect(thinkingOf()).toBe('enabled')
    const { calls } = await talker.ask('deep')
    expect(calls).toEqual(['ping'])
    const told = shortly(house().asked('deep').at(-1)).slice(1)
    // The relay between Chat and Chat leaves it to the client, and this one has no place for it.
    if (manner === 'chat') expect([thinkingOf(), told]).toEqual(['disabled', ['look_up()', 'look_up-gave-0']])
    else expect([thinkingOf(), told]).toEqual(['enabled', ['thought: Let me think.', 'look_up()', 'look_up-gave-0']])
    expect((await talker.ask('deep')).calls).toEqual([])
  })
})
