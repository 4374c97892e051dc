import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { whole } from '../../fakes/emit.ts'
import { chat } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { type FarHouse, startFarHouse } from './remote-provider-server.ts'

let house: FarHouse
beforeAll(async () => {
  house = await startFarHouse(
    { plain: (talk) => whole(talk) },
    { plain: { lanes: ['plain'] }, open: { lanes: ['plain'], more: 'pass_fields: [mirostat, store],' } },
    { config: 'hold: { uncapped_share_percent: 50, uncapped_tokens_min: 300 }' },
  )
})
afterEach(async () => {
  house.far.forget()
  await expectBalancedLedger(house.server)
})
afterAll(() => house?.close())

it('fields that pass_fields lists reach the provider; all others are left out and named', async () => {
  const account = await openAccount(house.server)
  const fields = { mirostat: { tau: 5 }, store: true, metadata: { a: 'b' }, typical_p: 0.9 }
  const open = await chat(house.server, account, { model: 'open', ...fields })
  const plain = await chat(house.server, account, { model: 'plain', ...fields })

  const [askedOpen, askedPlain] = house.far.talks.map(({ asked }) => asked)
  expect(askedOpen).toMatchObject({ mirostat: { tau: 5 }, store: true })
  expect(Object.keys(askedOpen!)).not.toEqual(expect.arrayContaining(['metadata']))
  expect(open.headers.get('x-millrace-ignored-fields')).toBe('metadata, typical_p')
  for (const name of Object.keys(fields)) expect(askedPlain).not.toHaveProperty(name)
  expect(plain.headers.get('x-millrace-ignored-fields')).toBe('mirostat, store, metadata, typical_p')
})

it('a request without a cap gets the share of the money that the operator wants it to, and never less than he wants', async () => {
  const price = 2000n
  const capOf = async (credit: string) => {
    const account = await openAccount(house.server, { credit })
    const { status, headers } = await chat(house.server, account, { model: 'plain' })
    const [receipt] = await account.receipts()
    return { status, cap: Number(headers.get('x-millrace-max-output-tokens')), hold: receipt?.hold_nano ?? 0n }
  }
  const { cap, hold } = await capOf('0.002')
  const input = hold - BigInt(cap) * price
  expect(BigInt(cap)).toBe((2_000_000n - input) / 2n / price)
  expect(house.far.talks[0]?.asked.max_tokens).toBe(cap)
  expect(await capOf('0.0009')).toMatchObject({ status: 200, cap: 300 })
  expect((await capOf('0.0005')).status).toBe(402)
})
