import { describe, expect, it } from 'vitest'
import type { Counted } from '../../fakes/polite-model.ts'
import { get } from '../../support/send-chat.ts'
import { nanoOf, openAccount } from '../../support/test-account.ts'
import { createConversationClient, type Delivery } from './wire-clients.ts'
import { PICO, useWiresServer, WIRES, type Wire } from './wires-server.ts'

const COUNTS: Readonly<Record<string, Counted>> = {
  'nothing but input and output': { input: 1009, cached: 0, output: 211, reasoning: 0 },
  reasoning: { input: 1009, cached: 0, output: 211, reasoning: 193 },
  'a cache that was read': { input: 1009, cached: 701, output: 211, reasoning: 0 },
  'a cache that was written': { input: 1009, cached: 0, written: 503, output: 211, reasoning: 0 },
  'all of it': { input: 1009, cached: 401, written: 499, output: 211, reasoning: 97 },
  'a cache that gave everything': { input: 1009, cached: 1009, output: 1, reasoning: 1 },
}
/** Long enough for these token counts to be possible. */
const WORDS = `${'So many words were said here before. '.repeat(120)} count to 100`

/** What a provider of the wire has told of it: generateContent knows no writing into a cache. */
function classesOf({ input, cached, written = 0, output, reasoning = 0 }: Counted, wire: Wire) {
  const cacheWrite = wire === 'gemini' ? 0 : written
  return {
    uncached_input: input - cached - cacheWrite,
    cached_input: cached,
    cache_write: cacheWrite,
    output,
    reasoning,
  }
}
type Classes = ReturnType<typeof classesOf>

/** Rounded up once, to whole nano-dollars. */
function chargeOf({ uncached_input, cached_input, cache_write, output }: Classes): bigint {
  const pico =
    BigInt(uncached_input) * PICO.input +
    BigInt(cached_input) * PICO.cachedInput +
    BigInt(cache_write) * PICO.cacheWrite +
    BigInt(output) * PICO.output
  return (pico + 999n) / 1000n
}

let counted = COUNTS['all of it']!
const setup = useWiresServer({ counting: () => counted })

const CASES = WIRES.flatMap((wire) => Object.keys(COUNTS).map((what) => ({ wire, what })))

describe.each(['chat', 'carrying'] as const)('for a client of %s', (mode) => {
  it.each(CASES)('$what costs the same over $wire, as stream or JSON', async ({ wire, what }) => {
    counted = COUNTS[what]!
    const { server } = setup()
    const account = await openAccount(server)
    const classes = classesOf(counted, wire)
    const charge = chargeOf(classes)
    let spent = 0n
    for (const delivery of ['stream', 'json'] as const satisfies readonly Delivery[]) {
      const conversationClient = createConversationClient(server, account, mode, { deliveries: [delivery] })
      const { usage, requestId } = await conversationClient.sendTurn(wire, WORDS)
      expect(usage, delivery).toMatchObject(mode === 'chat' ? inChat(classes) : inResponses(classes))
      const reported = usage.millrace as { readonly charge: string; readonly estimated?: boolean }
      expect([nanoOf(reported.charge), reported.estimated]).toEqual([charge, undefined])

      const { json: receipt } = await get(server, account, `/requests/${requestId}`)
      expect(receipt.tokens).toEqual({ ...classes, estimated: false })
      expect([nanoOf(receipt.charge), nanoOf(receipt.cost), receipt.outcome]).toEqual([charge, charge, 'completed'])
      spent += charge
      expect((await account.wallet()).balance).toBe(10_000_000_000n - spent)
      const { uncached_input, cached_input, cache_write, output } = receipt.tokens
      expect(uncached_input + cached_input + cache_write + output, "the provider's own total").toBe(
        counted.input + counted.output,
      )
    }
  })
})

const inChat = ({ uncached_input, cached_input, cache_write, output, reasoning }: Classes) => ({
  prompt_tokens: uncached_input + cached_input + cache_write,
  prompt_tokens_details: { cached_tokens: cached_input, cache_write_tokens: cache_write },
  completion_tokens: output,
  completion_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: uncached_input + cached_input + cache_write + output,
})

const inResponses = ({ uncached_input, cached_input, cache_write, output, reasoning }: Classes) => ({
  input_tokens: uncached_input + cached_input + cache_write,
  input_tokens_details: { cached_tokens: cached_input, cache_write_tokens: cache_write },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: uncached_input + cached_input + cache_write + output,
})
