import { describe, expect, it } from 'vitest'
import { openAccount } from '../../support/test-account.ts'
import { sealsIn, shortly } from './summarize-events.ts'
import { type ClientMode, type ConversationClient, createConversationClient } from './wire-clients.ts'
import { type ProviderName, type Received, useWiresServer, WIRES } from './wires-server.ts'

const CLIENTS: readonly ClientMode[] = ['chat', 'carrying', 'by id']
const SIGNING = WIRES.filter((wire) => wire !== 'chat')
const LOOP = 'Use look_up then ping then list.'
const ANSWER = 'The tool said: "look_up-gave-0" and "ping-gave-1" and "list-gave-2".'

const setup = useWiresServer()
const clientOf = async (mode: ClientMode, effort = 'low'): Promise<ConversationClient> => {
  const { server } = setup()
  return createConversationClient(server, await openAccount(server), mode, { more: { effort } })
}
const lastOf = (name: ProviderName): Received | undefined => setup().receivedRequest(name).at(-1)

/** Behind a model there may be another model, another credential, or another provider. */
const OTHERS = SIGNING.flatMap((wire) => [
  { wire, what: 'another model of the same provider', model: `${wire}-sibling`, provider: wire },
  { wire, what: 'the same model with another credential', model: `${wire}-other-key`, provider: wire },
  { wire, what: 'another provider of the same wire', model: `${wire}-2`, provider: `${wire}-2` as const },
])

describe.each(CLIENTS)('for a client that continues %s', (mode) => {
  it.each(OTHERS)('nothing signed by $wire goes to $what', async ({ wire, model, provider }) => {
    const conversationClient = await clientOf(mode)
    await conversationClient.sendTurn(wire, LOOP)
    const [first] = await receivedAfter(wire, () => conversationClient.sendTurn(model), provider)
    expect(sealsIn(first)).toEqual([])
    const [second] = await receivedAfter(wire, () => conversationClient.sendTurn(wire), wire)
    expect(sealsIn(second), shortly(second).join(' ')).toHaveLength(1)
    const end = await conversationClient.sendTurn(model)
    expect([end.calls, end.words]).toEqual([[], ANSWER])
    expect(sealsIn(lastOf(provider))).toHaveLength(1)
    expect(
      setup().receivedRequest(wire).length + (provider === wire ? 0 : setup().receivedRequest(provider).length),
    ).toBe(4)
  })

  const receivedAfter = async (
    _wire: string,
    act: () => Promise<unknown>,
    provider: ProviderName,
  ): Promise<Received[]> => {
    const before = setup().receivedRequest(provider).length
    await act()
    return setup().receivedRequest(provider).slice(before)
  }

  it.each(['chat', 'responses', 'gemini', 'anthropic-2'] as const)(
    'a budgeted-thinking model continues calls of %s without thinking, then thinks again',
    async (other) => {
      const conversationClient = await clientOf(mode)
      const thinkingOf = () => (lastOf('anthropic')?.thinking as { type: string } | undefined)?.type
      expect((await conversationClient.sendTurn(other, LOOP)).calls).toEqual(['look_up'])
      expect((await conversationClient.sendTurn('anthropic-budget')).calls).toEqual(['ping'])
      expect(thinkingOf()).toBe('disabled')
      const { calls, headers } = await conversationClient.sendTurn('anthropic-budget')
      expect(calls).toEqual(['list'])
      expect(thinkingOf()).toBe('disabled')
      const effort = mode === 'chat' ? 'reasoning_effort' : 'reasoning.effort'
      expect(headers.get('x-millrace-ignored-fields')).toContain(effort)
      expect((await conversationClient.sendTurn(other)).words).toBe(ANSWER)

      expect((await conversationClient.sendTurn('anthropic-budget', 'Use note now.')).calls).toEqual(['note'])
      expect(thinkingOf()).toBe('enabled')
      expect((await conversationClient.sendTurn('anthropic-budget')).words).toBe('The tool said: "note-gave-3".')
      expect(thinkingOf()).toBe('enabled')
    },
  )

  it('budgeted and adaptive thinking models continue each other', async () => {
    const conversationClient = await clientOf(mode)
    await conversationClient.sendTurn('anthropic', LOOP)
    await conversationClient.sendTurn('anthropic-budget')
    expect(lastOf('anthropic')?.thinking).toMatchObject({ type: 'enabled' })
    await conversationClient.sendTurn('anthropic')
    expect((await conversationClient.sendTurn('anthropic-budget')).words).toBe(ANSWER)
    expect(sealsIn(lastOf('anthropic'))).toHaveLength(3)
  })

  it('a client may turn off thinking in mid-loop', async () => {
    const { server } = setup()
    const account = await openAccount(server)
    for (const model of [...SIGNING, 'anthropic-budget', 'gemini-budget']) {
      const efforts = ['low', 'none', 'low', 'high']
      let at = 0
      const more = {
        get effort() {
          return efforts[at++ % efforts.length]
        },
      }
      const conversationClient = createConversationClient(server, account, mode, { more })
      expect((await conversationClient.loop(model, LOOP)).words, model).toBe(ANSWER)
    }
  })
})
