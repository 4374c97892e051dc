import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { whole } from '../../fakes/emit.ts'
import { chat } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { type RemoteSetup, startRemoteSetup } from './remote-provider-server.ts'

let setup: RemoteSetup
beforeAll(async () => {
  setup = await startRemoteSetup(
    { plain: (providerAnswer) => whole(providerAnswer) },
    { plain: { lanes: ['plain'] }, open: { lanes: ['plain'], more: 'pass_fields: [mirostat, store],' } },
    { config: 'hold: { uncapped_share_percent: 50, uncapped_tokens_min: 300 }' },
  )
})
afterEach(async () => {
  setup.far.forget()
  await expectBalancedLedger(setup.server)
})
afterAll(() => setup?.close())

it('fields listed in pass_fields reach the provider; others are dropped and named', async () => {
  const account = await openAccount(setup.server)
  const fields = { mirostat: { tau: 5 }, store: true, metadata: { a: 'b' }, typical_p: 0.9 }
  const open = await chat(setup.server, account, { model: 'open', ...fields })
  const plain = await chat(setup.server, account, { model: 'plain', ...fields })

  const [receivedOpen, receivedPlain] = setup.far.providerAnswers.map(({ receivedRequest }) => receivedRequest)
  expect(receivedOpen).toMatchObject({ mirostat: { tau: 5 }, store: true })
  expect(Object.keys(receivedOpen!)).not.toEqual(expect.arrayContaining(['metadata']))
  expect(open.headers.get('x-millrace-ignored-fields')).toBe('metadata, typical_p')
  for (const name of Object.keys(fields)) expect(receivedPlain).not.toHaveProperty(name)
  expect(plain.headers.get('x-millrace-ignored-fields')).toBe('mirostat, store, metadata, typical_p')
})

it('a request without a cap gets the configured share of the balance, never less than the configured minimum', async () => {
  const price = 2000n
  const capOf = async (credit: string) => {
    const account = await openAccount(setup.server, { credit })
    const { status, headers } = await chat(setup.server, account, { model: 'plain' })
    const [receipt] = await account.receipts()
    return { status, cap: Number(headers.get('x-millrace-max-output-tokens')), hold: receipt?.hold_nano ?? 0n }
  }
  const { cap, hold } = await capOf('0.002')
  const input = hold - BigInt(cap) * price
  expect(BigInt(cap)).toBe((2_000_000n - input) / 2n / price)
  expect(setup.far.providerAnswers[0]?.receivedRequest.max_tokens).toBe(cap)
  expect(await capOf('0.0009')).toMatchObject({ status: 200, cap: 300 })
  expect((await capOf('0.0005')).status).toBe(402)
})
