import { describe, expect, it } from 'vitest'
import { styleFor } from '../../../src/cli/format.ts'
import { formatTrace } from '../../../src/cli/trace.ts'
import { get } from '../../support/send-chat.ts'
import { nanoOf, openAccount } from '../../support/test-account.ts'
import { keepingCounts, piecesOf } from './cached-prompts.ts'
import { type ClientMode, createConversationClient } from './wire-clients.ts'
import { PICO, useWiresServer } from './wires-server.ts'

const PRICES = {
  /** Who names the price of writing into a cache has the whole conversation kept. */
  paid: '{ input: "0.300001", cached_input: "0.075003", cache_write: "0.375007", output: "1.200007" }',
  same: '{ input: "0.300001", cached_input: "0.075003", cache_write: "0.300001", output: "1.200007" }',
  unsaid: '{ input: "0.300001", cached_input: "0.075003", output: "1.200007" }',
}
const POLICIES = ['off', 'system', 'conversation'] as const

const modelText = (id: string, price: string, lane: string): string =>
  `  - { id: ${id}, efforts: [none, low], context_tokens: 128000, max_output_tokens: 8192, price: ${price}, lanes: [{ ${lane} }] }\n`

const MODELS = [
  ...POLICIES.map((policy) =>
    modelText(`kept-${policy}`, PRICES.paid, `upstream: anthropic, model: mind, prompt_cache: ${policy}`),
  ),
  ...POLICIES.map((policy) =>
    modelText(`unpaid-${policy}`, PRICES.unsaid, `upstream: anthropic, model: mind, prompt_cache: ${policy}`),
  ),
  ...(['paid', 'same', 'unsaid'] as const).map((price) =>
    modelText(`price-${price}`, PRICES[price], 'upstream: anthropic, model: mind'),
  ),
  ...(['chat', 'responses', 'gemini'] as const).map((wire) =>
    modelText(`${wire}-kept`, PRICES.paid, `upstream: ${wire}, model: mind, prompt_cache: conversation`),
  ),
].join('')

const setup = useWiresServer({ models: MODELS, counting: keepingCounts() })

const LOOP = 'Use look_up then ping then list.'
const SYSTEM = 'You are terse. '.repeat(200)
/** The instructions, as each protocol has them. */
const more = (mode: ClientMode) => ({ effort: 'low', ...(mode === 'chat' ? {} : { instructions: SYSTEM }) })

/** What was marked of the last request: pieces by their number, of how many there were. */
function marksOf(provider: 'anthropic' | 'chat' | 'responses' | 'gemini') {
  const receivedRequest = setup().receivedRequest(provider).at(-1) ?? {}
  const pieces = piecesOf(receivedRequest)
  const at = (place: string) => pieces.findIndex(({ text }) => text.includes(place))
  return {
    text: JSON.stringify(receivedRequest),
    marked: pieces.flatMap(({ isMarked, text }) => (isMarked ? [text] : [])),
    lastTool: pieces[at('"note"')]?.text,
    system: pieces[at('You are terse.')]?.text,
  }
}

describe.each(['chat', 'by id'] as const)('for a client that continues %s', (mode) => {
  const conversationClient = async () => {
    const { server } = setup()
    const account = await openAccount(server)
    return { account, ...createConversationClient(server, account, mode, { more: more(mode) }) }
  }
  const frame = () => [marksOf('anthropic').lastTool, ...(mode === 'chat' ? [] : [marksOf('anthropic').system])]

  it('nothing is marked when the policy is off or caching has no price', async () => {
    for (const model of ['kept-off', 'unpaid-off', 'price-same', 'price-unsaid']) {
      await (await conversationClient()).loop(model, LOOP)
      expect(marksOf('anthropic').text, model).not.toContain('cache_control')
    }
  })

  it('policy system marks the tools and the system prompt', async () => {
    for (const model of ['kept-system', 'unpaid-system']) {
      await (await conversationClient()).loop(model, LOOP)
      expect(marksOf('anthropic').marked, model).toEqual(frame())
    }
  })

  it('policy conversation also marks the conversation', async () => {
    for (const model of ['kept-conversation', 'unpaid-conversation', 'price-paid']) {
      await (await conversationClient()).loop(model, LOOP)
      const { marked } = marksOf('anthropic')
      expect(marked.slice(0, -2), model).toEqual(frame())
      expect(marked.slice(-2).map((text) => JSON.parse(text).content)).toEqual(['ping-gave-1', 'list-gave-2'])
    }
  })

  it.each(['chat', 'responses', 'gemini'] as const)('nothing is marked for %s', async (wire) => {
    await (await conversationClient()).loop(`${wire}-kept`, LOOP)
    expect(marksOf(wire).text).not.toContain('cache_control')
  })

  it('cache writes and reads are charged at their own prices', async () => {
    const { account, sendTurn } = await conversationClient()
    const { server } = setup()
    // No other account's prompts have begun with these words.
    let emitted = await sendTurn('price-paid', `${mode} begins. ${LOOP}`)
    let before = 0
    for (let turn = 0; ; turn++) {
      const { json: receipt } = await get(server, account, `/requests/${emitted.requestId}`)
      const { uncached_input, cached_input, cache_write, output } = receipt.tokens
      // All of it stands in front of the last mark.
      expect(cached_input + cache_write).toBeGreaterThan(0)
      expect(uncached_input).toBeLessThanOrEqual(1)
      if (turn > 0) expect(cached_input, 'what was read or written before').toBe(before)
      before = cached_input + cache_write
      expect(cache_write).toBeGreaterThan(0)

      const details = emitted.usage.prompt_tokens_details ?? emitted.usage.input_tokens_details
      expect(details).toEqual({ cached_tokens: cached_input, cache_write_tokens: cache_write })
      const pico =
        BigInt(uncached_input) * PICO.input +
        BigInt(cached_input) * PICO.cachedInput +
        BigInt(cache_write) * PICO.cacheWrite +
        BigInt(output) * PICO.output
      expect(nanoOf(receipt.charge)).toBe((pico + 999n) / 1000n)
      const trace = formatTrace(styleFor(false), await server.operate('requests.trace', { request: emitted.requestId }))
      expect(trace).toContain(`(${cached_input} from the cache, ${cache_write} written to it)`)
      expect(trace).toContain('0.375007 written')
      if (emitted.calls.length === 0) return expect(turn).toBe(3)
      emitted = await sendTurn('price-paid')
    }
  })
})
