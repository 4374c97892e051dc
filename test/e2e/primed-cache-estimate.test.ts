import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ReceiptsTable } from '../../src/db/tables.ts'
import type { ProviderAnswer } from '../fakes/answers.ts'
import { chunk, usageChunk, WORDS } from '../fakes/chat-frames.ts'
import { framesOf, readStream } from '../support/read-stream.ts'
import { send } from '../support/send-chat.ts'
import { openAccount, type TestAccount } from '../support/test-account.ts'
import { until } from '../support/until.ts'
import { expectBalancedLedger } from '../support/use-server.ts'
import { type RemoteSetup, startRemoteSetup } from './faults/remote-provider-server.ts'

/** Nano-dollars a token: what the provider has seen just before costs a quarter. */
const PRICE = { uncached: 1000n, cached: 250n, output: 2000n }
const BYTES_PER_TOKEN = 4

/** Whether the provider tells its answer to the end, or falls silent until the client hangs up. */
let whole = true
const answer = async (providerAnswer: ProviderAnswer) => {
  await providerAnswer.head()
  await providerAnswer.frames(
    ...WORDS.slice(0, 2).map((content) => chunk(providerAnswer.model, { delta: { content } })),
  )
  if (!whole) return
  await providerAnswer.frames(
    chunk(providerAnswer.model, { finish: 'stop' }),
    usageChunk(providerAnswer.model, countOf(providerAnswer)),
    '[DONE]',
  )
  await providerAnswer.end()
}

/** As the catalogue takes it, so that the lane learns nothing else. */
const countOf = ({ receivedRequest }: ProviderAnswer) => ({
  prompt_tokens: Math.ceil(bytesOf(receivedRequest.messages as Message[]) / BYTES_PER_TOKEN),
  completion_tokens: 4,
})

let setup: RemoteSetup
beforeAll(async () => {
  setup = await startRemoteSetup(
    { caching: answer },
    { caching: { lanes: ['caching'] }, other: { lanes: ['caching'] } },
  )
})
afterEach(async () => {
  setup.far.forget()
  await expectBalancedLedger(setup.server)
})
afterAll(() => setup?.close())

type Message = { readonly role: string; readonly content: string }
const emitted = (role: string, letter: string, bytes = 6000): Message => ({ role, content: letter.repeat(bytes) })

const bodyOf = (messages: readonly Message[], more: object = {}) => ({
  ...{ model: 'caching', stream: true, messages },
  ...more,
})

/** A turn to its end: from now on its provider has seen the messages. */
async function prime(who: { readonly key: string }, messages: readonly Message[]): Promise<void> {
  whole = true
  const { done } = await readStream(await send(setup.server, who, bodyOf(messages)))
  expect(done).toBe(true)
}

/** The receipt of a turn whose client hangs up after the first words. */
async function cut(
  account: TestAccount,
  messages: readonly Message[],
  more: { readonly key?: string; readonly model?: string; readonly tools?: readonly object[] } = {},
): Promise<ReceiptsTable> {
  whole = false
  const { key = account.key, ...fields } = more
  const response = await send(setup.server, { key }, bodyOf(messages, fields))
  for await (const _frame of framesOf(response)) break
  const id = response.headers.get('x-request-id')
  const receipt = await until(async () =>
    (await account.receipts()).find((row) => row.request_id === id && row.state !== 'open'),
  )
  expect(receipt).toMatchObject({ outcome: 'client_gone', estimated: 1, shortfall_nano: 0n })
  expect(receipt.charge_nano).toBe(priceOf(receipt))
  expect((receipt.uncached_input ?? 0) + (receipt.cached_input ?? 0)).toBe(receipt.input_estimate)
  return receipt
}

const priceOf = ({ uncached_input, cached_input, output }: ReceiptsTable): bigint =>
  BigInt(uncached_input ?? 0) * PRICE.uncached +
  BigInt(cached_input ?? 0) * PRICE.cached +
  BigInt(output ?? 0) * PRICE.output

const bytesOf = (messages: readonly Message[]): number => Buffer.byteLength(JSON.stringify(messages))

describe('after a turn that primed the provider’s cache', () => {
  const first = [emitted('user', 'a')]
  let account: TestAccount

  beforeEach(async () => {
    account = await openAccount(setup.server)
    await prime(account, first)
  })

  it('the next turn of the conversation, when cancelled, pays the cached price for the seen prefix', async () => {
    const next = [...first, emitted('assistant', 'b', 40), emitted('user', 'c', 80)]
    const { cached_input, uncached_input } = await cut(account, next)
    // All of the first turn but the bracket that closes its list.
    expect(cached_input).toBe(Math.floor((bytesOf(first) - 1) / BYTES_PER_TOKEN))
    expect(uncached_input).toBe(Math.ceil(bytesOf(next) / BYTES_PER_TOKEN) - (cached_input ?? 0))
  })

  it('the same turn again, when cancelled, pays the cached price in full', async () => {
    const { uncached_input, cached_input } = await cut(account, first)
    expect(cached_input).toBeGreaterThan(1000)
    expect(uncached_input).toBeLessThanOrEqual(1)
  })

  const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } }
  const others: [string, readonly Message[], { model?: string; tools?: object[] }][] = [
    ['another prompt', [emitted('user', 'x')], {}],
    ['one that is longer', [emitted('user', 'x', 9000)], {}],
    ['one that goes on from the same words in the same message', [emitted('user', 'a', 9000)], {}],
    ['one that begins with other words', [emitted('system', 's', 20), ...first], {}],
    ['the same words with other tools', first, { tools: [tool] }],
    ['the same words to another model', first, { model: 'other' }],
  ]

  it.each(others)('%s, when cancelled, costs the same as without that turn', async (_name, messages, more) => {
    const fresh = await openAccount(setup.server)
    const unprimed = await cut(fresh, messages, more)
    const primed = await cut(account, messages, more)
    expect(unprimed.cached_input).toBe(0)
    expect(primed.cached_input).toBe(0)
    expect(primed.charge_nano).toBe(unprimed.charge_nano)
  })

  it('another key of the account, when cancelled, pays full price', async () => {
    const { key } = await account.createKey()
    expect((await cut(account, first, { key })).cached_input).toBe(0)
  })

  it('after five minutes the full price applies again', async () => {
    setup.server.advance(300_000)
    expect((await cut(account, first)).cached_input).toBe(0)
  })
})
