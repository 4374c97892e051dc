import { describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { nanoOf, openAccount } from '../../support/test-account.ts'
import { COUNT, COUNTED } from './chat-shapes.ts'
import { DELIVERIES, type Protocol, parseShape, sendShape } from './send-shape.ts'
import { LANES, lastReceived, useShapes } from './shapes-server.ts'

const setup = useShapes()

/** The models of this house: 8192 tokens of output at two dollars a million. */
const MODEL_MAX = 8192
const OUTPUT_NANO = 2_000n

interface Bound {
  readonly bound: string
  readonly protocol: Protocol
  readonly field: string
  readonly tokens: number
}

const BOUNDS: readonly Bound[] = [
  { bound: 'max_tokens 32000', protocol: 'chat', field: 'max_tokens', tokens: 32_000 },
  { bound: 'max_completion_tokens 16384', protocol: 'chat', field: 'max_completion_tokens', tokens: 16_384 },
  { bound: 'max_output_tokens 128000', protocol: 'responses', field: 'max_output_tokens', tokens: 128_000 },
]

const requests = (model: string, { protocol, field, tokens }: Bound, more: object = {}): object => ({
  model,
  ...(protocol === 'chat' ? { messages: [{ role: 'user', content: COUNT }] } : { input: COUNT }),
  [field]: tokens,
  ...more,
})

describe.each(LANES)('over $lane a small call with a large max_tokens', ({ model, endless }) => {
  it.each(BOUNDS)('$bound is clamped to the model and costs the actual output', async (bound) => {
    const account = await openAccount(setup())
    for (const delivery of DELIVERIES) {
      const { text } = await parseShape(setup(), account, { ...bound, delivery }, requests(model, bound))
      expect(text).toBe(COUNTED)
      if (model !== 'demo') expect(lastReceived(setup(), model).cap).toBe(MODEL_MAX)
    }
    const receipts = await account.receipts()
    expect(receipts).toHaveLength(DELIVERIES.length)
    // A hold of 8192 tokens would be sixteen million nano-dollars.
    for (const { charge_nano: charge } of receipts) expect(charge).toBeLessThan(100_000n)
  })

  it.each(BOUNDS)('$bound holds at most the model’s maximum', async (bound) => {
    const account = await openAccount(setup())
    const stop = new AbortController()
    const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' }
    const path = bound.protocol === 'chat' ? '/chat/completions' : '/responses'
    const body = JSON.stringify({ ...requests(endless, bound), stream: true }).replace(COUNT, 'count to 5000')
    const answer = await fetch(`${setup().baseUrl}${path}`, { method: 'POST', headers, body, signal: stop.signal })
    await answer.body?.getReader().read()
    const { held } = await account.wallet()
    stop.abort()
    expect(held).toBeGreaterThan(BigInt(MODEL_MAX) * OUTPUT_NANO)
    expect(held).toBeLessThan(BigInt(MODEL_MAX) * OUTPUT_NANO + 1_000_000n)
  })

  it.each(BOUNDS)('$bound exceeds a small wallet: 402 names the affordable value', async (bound) => {
    const account = await openAccount(setup(), { credit: '0.005' })
    const answer = await sendShape(setup(), account, bound.protocol, requests(model, bound))
    expectProblem(answer, 'insufficient_balance')
    const { message, available, needed } = answer.json.error
    const fits = Number(new RegExp(`Add funds, or set ${bound.field} to (\\d+) or less\\.$`).exec(message)?.[1])
    expect(fits).toBeGreaterThan(1024)
    expect(nanoOf(needed)).toBeLessThan(17_000_000n)
    expect(nanoOf(available)).toBe(5_000_000n)
    const variant = { protocol: bound.protocol, delivery: 'json' } as const
    const served = await parseShape(setup(), account, variant, requests(model, { ...bound, tokens: fits }))
    expect(served.text).toBe(COUNTED)
  })

  it.each(BOUNDS)('without $field the balance decides, and a header shows the cap', async (bound) => {
    const account = await openAccount(setup(), { credit: '0.01' })
    const path = bound.protocol
    const answer = await sendShape(setup(), account, path, requests(model, bound, { [bound.field]: null }))
    expect(answer.status).toBe(200)
    const granted = Number(answer.headers.get('x-millrace-max-output-tokens'))
    expect(granted).toBeGreaterThanOrEqual(1024)
    expect(granted).toBeLessThan(MODEL_MAX)
    if (model !== 'demo') expect(lastReceived(setup(), model).cap).toBe(granted)
  })
})
