import { describe, expect, it } from 'vitest'
import { openAccount } from '../../support/test-account.ts'
import { deliveredIn, sealsIn, shortly } from './summarize-events.ts'
import { CLIENT_MODES, type ClientMode, createConversationClient } from './wire-clients.ts'
import { type ProviderName, useWiresServer } from './wires-server.ts'

/** A loop of four calls after one another, one of calls at once, thoughts that lead to words alone, and a loop again. */
const LOOPS: readonly (readonly [words: string, calls: readonly string[]])[] = [
  ['Use look_up then ping then list then note.', ['look_up', 'ping', 'list', 'note']],
  ['Use look_up and ping and list.', ['look_up', 'ping', 'list']],
  ['count to 3', []],
  ['Say it aloud and use look_up then ping.', ['look_up', 'ping']],
  ['Say it aloud and use list and note.', ['list', 'note']],
]

/** What the provider is told at the end of it, whatever its wire, but for what it has signed. */
const TOLD = [
  ...['user', 'look_up()', 'look_up-gave-0', 'ping()', 'ping-gave-1', 'list()', 'list-gave-2', 'note()', 'note-gave-3'],
  ...['assistant', 'user', 'look_up()', 'ping()', 'list()', 'look_up-gave-4', 'ping-gave-5', 'list-gave-6'],
  ...['assistant', 'user', 'assistant'],
  ...['user', 'assistant', 'look_up()', 'look_up-gave-7', 'assistant', 'ping()', 'ping-gave-8', 'assistant'],
  ...['user', 'assistant', 'list()', 'note()', 'list-gave-9', 'note-gave-10'],
]

/** Whose client keeps what belongs to an answer without calls: Gemini signs behind its words, and shows that to who asks. */
const keepsAll = (mode: ClientMode, provider: ProviderName): boolean =>
  provider === 'gemini' ? mode === 'carrying' : mode !== 'chat'

const PLACES: readonly (readonly [ProviderName, model: string, seals: number])[] = [
  ['anthropic', 'anthropic', 1],
  ['anthropic', 'anthropic-budget', 1],
  ['anthropic-partly', 'anthropic-partly', 2],
  ['anthropic-closed', 'anthropic-closed', 1],
  ['gemini', 'gemini', 1],
  ['gemini', 'gemini-budget', 1],
  ['responses', 'responses', 1],
]

const CASES = PLACES.flatMap(([provider, model, seals]) =>
  CLIENT_MODES.filter((mode) => provider === model || mode === 'chat' || mode === 'carrying').map((mode) => ({
    provider,
    model,
    seals,
    mode,
  })),
)

describe('provider signatures', () => {
  const setup = useWiresServer()

  it.each(CASES)('return in place over $model, for a client that continues $mode', async (row) => {
    const { provider, model, seals, mode } = row
    const conversationClient = createConversationClient(setup().server, await openAccount(setup().server), mode)
    // How many answers had calls, and how many had none.
    let [ofCalls, ofWords] = [0, 0]
    let results = 0
    for (const [words, calls] of LOOPS) {
      const { called, words: last } = await conversationClient.loop(model, words)
      expect(called).toEqual(calls)
      const gave = calls.map((name) => `"${name}-gave-${results++}"`).join(' and ')
      expect(last).toBe(calls.length === 0 ? '1 2 3' : `The tool said: ${gave}.`)
      ofCalls += words.includes('then') ? calls.length : Math.min(calls.length, 1)
      const parsedOutput = setup().receivedRequest(provider).at(-1)
      expect(sealsIn(parsedOutput), shortly(parsedOutput).join(' ')).toHaveLength(
        seals * (ofCalls + (keepsAll(mode, provider) ? ofWords : 0)),
      )
      expect(new Set(sealsIn(parsedOutput)).size).toBe(sealsIn(parsedOutput).length)
      ofWords += 1
    }
    expect(deliveredIn(setup().receivedRequest(provider).at(-1))).toEqual(TOLD)
    expect(JSON.stringify(setup().receivedRequest(provider).at(-1))).not.toContain('skip_thought')
  })
})
