import { describe, expect, it } from 'vitest'
import { openAccount } from '../../support/test-account.ts'
import { shortly } from './summarize-events.ts'
import { CLIENT_MODES, createConversationClient } from './wire-clients.ts'
import { useWiresServer, WIRES } from './wires-server.ts'

const setup = useWiresServer()

describe.each(CLIENT_MODES)('a loop of a client that continues %s', (mode) => {
  it.each(WIRES)('moves from %s to a lane that requires reasoning_content, and back', async (wire) => {
    const { server } = setup()
    const conversationClient = createConversationClient(server, await openAccount(server), mode)
    await conversationClient.sendTurn(wire, 'Use look_up then ping then list.')
    expect((await conversationClient.sendTurn('deep')).calls).toEqual(['ping'])
    expect((await conversationClient.sendTurn(wire)).calls).toEqual(['list'])
    const end = await conversationClient.sendTurn('deep')
    expect(end.words).toBe('The tool said: "look_up-gave-0" and "ping-gave-1" and "list-gave-2".')
  })

  it('continues without thinking when the reasoning is unknown', async () => {
    const { server } = setup()
    const conversationClient = createConversationClient(server, await openAccount(server), mode)
    const thinkingOf = () =>
      (setup().receivedRequest('deep').at(-1)?.thinking as { readonly type: string } | undefined)?.type
    expect((await conversationClient.sendTurn('deep', 'Use look_up then ping.')).calls).toEqual(['look_up'])
    expect(thinkingOf()).toBe('enabled')
    const { calls } = await conversationClient.sendTurn('deep')
    expect(calls).toEqual(['ping'])
    const reported = shortly(setup().receivedRequest('deep').at(-1)).slice(1)
    // The relay between Chat and Chat leaves it to the client, and this one has no place for it.
    if (mode === 'chat') expect([thinkingOf(), reported]).toEqual(['disabled', ['look_up()', 'look_up-gave-0']])
    else
      expect([thinkingOf(), reported]).toEqual(['enabled', ['thought: Let me think.', 'look_up()', 'look_up-gave-0']])
    expect((await conversationClient.sendTurn('deep')).calls).toEqual([])
  })
})
