import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deliver, type StripeEvent, type StripeStandIn, startStripe, WEBHOOK_SECRET } from '../../program/stripe.mjs'
import { type ConsolePerson, signUp } from '../../support/console-session.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'

let stripe: StripeStandIn
let server: TestServer

beforeAll(async () => {
  stripe = await startStripe()
  server = await startServer({ config: `${TEST_CONFIG}\n${stripe.config()}` })
})
afterAll(async () => {
  await server?.close()
  await stripe?.close()
})

const url = () => `http://127.0.0.1:${server.port}`
let people = 0

async function openOwner(): Promise<ConsolePerson & { readonly account: string }> {
  const email = `payer${++people}@example.com`
  const { id } = await server.operate('accounts.create', { email })
  return Object.assign(await signUp(server, { email, account: id }), { account: id })
}

/** Begins a payment, and completes it at the provider: nothing is delivered. */
async function payAtStripe(owner: ConsolePerson, amount: string, body = {}) {
  const from = stripe.events.length
  const { payment, url: page } = await owner.call('POST /card/top-up', { body: { amount, ...body } })
  const session = page.split('/').at(-1)!
  stripe.pay(session)
  const events = stripe.events.slice(from)
  return { payment, session, intent: stripe.sessions.get(session)!.payment_intent!, events }
}

const ofType = (events: readonly StripeEvent[], type: string) => events.find((event) => event.type === type)!
const balanceOf = async (owner: ConsolePerson) => (await owner.call('GET /wallet')).balance

describe('funds by card', () => {
  it('are credited by the webhook, once however often it is delivered', async () => {
    const owner = await openOwner()
    const { payment, events } = await payAtStripe(owner, '20.00')
    expect(await balanceOf(owner)).toBe('0.00')
    for (const event of [...events, ...events, ...events.toReversed()]) expect(await deliver(url(), event)).toBe(200)
    await Promise.all(events.map((event) => deliver(url(), event)))
    expect(await balanceOf(owner)).toBe('20.00')
    const { items } = await owner.call('GET /payments')
    expect(items).toMatchObject([{ id: payment, state: 'paid', amount: '20.00', refunded: '0.00', owed: '0.00' }])
    expect(items[0]!.receipt_url).toContain('/receipt/')
    const { items: movements } = await owner.call('GET /wallet/statement')
    expect(movements).toMatchObject([{ kind: 'credit', amount: '20.00', ref: `stripe:${payment}` }])
    await expectBalancedLedger(server)
  })

  it('are credited when the page asks, if no webhook comes', async () => {
    const owner = await openOwner()
    const { payment } = await payAtStripe(owner, '7.50')
    expect(await owner.call('GET /payments/:payment', { params: { payment } })).toMatchObject({ state: 'paid' })
    expect(await balanceOf(owner)).toBe('7.50')
  })

  it('are not shown to another account', async () => {
    const [owner, other] = [await openOwner(), await openOwner()]
    const { payment } = await payAtStripe(owner, '5.00')
    const shown = await other.send('GET /payments/:payment', { params: { payment } })
    expect(shown.error?.code).toBe('payment_not_found')
  })

  it('end right when the refund arrives before the payment', async () => {
    const owner = await openOwner()
    const { payment, intent, events } = await payAtStripe(owner, '30.00')
    stripe.refund(intent, 1000)
    const refunded = stripe.events.at(-1)!
    for (const event of [refunded, ...events, refunded]) expect(await deliver(url(), event)).toBe(200)
    expect(await balanceOf(owner)).toBe('20.00')
    const { items } = await owner.call('GET /wallet/statement')
    expect(items.map(({ kind, amount, ref }) => ({ kind, amount, ref }))).toEqual([
      { kind: 'refund', amount: '-10.00', ref: `stripe:${payment}:1` },
      { kind: 'credit', amount: '30.00', ref: `stripe:${payment}` },
    ])
  })

  it('are taken back only as far as the wallet has them, and the rest is owed', async () => {
    const owner = await openOwner()
    const { payment, intent, events } = await payAtStripe(owner, '10.00')
    for (const event of events) await deliver(url(), event)
    await server.operate('wallet.refund', { account: owner.account, amount: '8.00', reason: 'spent', ref: 'spent' })
    stripe.refund(intent, 1000)
    expect(await deliver(url(), stripe.events.at(-1)!)).toBe(200)
    expect(await balanceOf(owner)).toBe('0.00')
    expect(await owner.call('GET /payments/:payment', { params: { payment } })).toMatchObject({ owed: '8.00' })
    const { items } = await server.operate('payments.list', { owed: true })
    expect(items).toMatchObject([{ id: payment, email: owner.email, owed: '8.00' }])
    // What arrives later pays it first.
    await server.operate('wallet.credit', { account: owner.account, amount: '9.00', reason: 'more', ref: 'more' })
    await server.operate('payments.reconcile', {})
    expect(await balanceOf(owner)).toBe('1.00')
    expect((await server.operate('payments.list', { owed: true })).items).toEqual([])
    await expectBalancedLedger(server)
  })

  it('go back with a dispute and return when it is won, in any order', async () => {
    const owner = await openOwner()
    const { intent, events } = await payAtStripe(owner, '12.00')
    const dispute = stripe.dispute(intent, 1200)
    const opened = stripe.events.at(-1)!
    // Before the payment is known here: the provider is asked whose it is.
    expect(await deliver(url(), opened)).toBe(200)
    for (const event of events) await deliver(url(), event)
    expect(await balanceOf(owner)).toBe('0.00')
    stripe.closeDispute(dispute, 'won')
    await deliver(url(), stripe.events.at(-1)!)
    await deliver(url(), { ...opened, id: 'evt_late_copy' })
    expect(await balanceOf(owner)).toBe('12.00')
  })

  it('stay while a bank only inquires, and go back when the inquiry becomes a dispute', async () => {
    const owner = await openOwner()
    const { intent, events } = await payAtStripe(owner, '12.00')
    for (const event of events) await deliver(url(), event)
    const dispute = stripe.dispute(intent, 1200, 'warning_needs_response')
    await deliver(url(), stripe.events.at(-1)!)
    expect(await balanceOf(owner)).toBe('12.00')
    stripe.escalate(dispute)
    await deliver(url(), stripe.events.at(-1)!)
    expect(await balanceOf(owner)).toBe('0.00')
  })

  it('can be paid after the provider has lost the customer, e.g. when live keys follow test keys', async () => {
    const owner = await openOwner()
    const { session, events } = await payAtStripe(owner, '5.00', { save_card: true })
    for (const event of events) await deliver(url(), event)
    expect((await owner.call('GET /card')).card).not.toBeNull()
    stripe.lostCustomers.add(stripe.sessions.get(session)!.customer!)
    const next = await payAtStripe(owner, '6.00', { save_card: true })
    expect((await owner.call('GET /card')).card).toBeNull()
    for (const event of next.events) await deliver(url(), event)
    expect((await owner.call('GET /card')).card).not.toBeNull()
    expect(await balanceOf(owner)).toBe('11.00')
  })

  it('are found by a reconciliation that no webhook has brought', async () => {
    const owner = await openOwner()
    const { payment, intent } = await payAtStripe(owner, '15.00')
    stripe.refund(intent, 500)
    const { differences, failures } = await server.operate('payments.reconcile', { days: 1 })
    expect(failures).toEqual([])
    expect(differences).toContainEqual({ payment, before: 'open', after: 'paid, refunded 5.00' })
    expect(await balanceOf(owner)).toBe('10.00')
    expect((await server.operate('payments.reconcile', {})).differences).toEqual([])
  })

  it('are refused in amounts that cannot be paid', async () => {
    const owner = await openOwner()
    for (const amount of ['4.99', '1000.01', '10.001', '-5.00', 'ten', '']) {
      expect((await owner.send('POST /card/top-up', { body: { amount } })).error?.code).toBe('invalid_amount')
    }
  })

  it('are not charged when the provider fails or falls silent', async () => {
    const owner = await openOwner()
    for (const how of ['fail', 'silent-before'] as const) {
      stripe.faults.push({ path: 'POST /v1/checkout/sessions', times: 2, how })
      const refused = await owner.send('POST /card/top-up', { body: { amount: '9.00' } })
      expect(refused.status).toBe(502)
      expect(refused.error?.code).toBe('payment_failed')
    }
    const { items } = await owner.call('GET /payments')
    expect(items.map(({ state }) => state)).toEqual(['failed', 'failed'])
    // The page was made, and its answer lost: the repetition under the same key gets the same page.
    stripe.faults.push({ path: 'POST /v1/checkout/sessions', times: 1, how: 'silent-after' })
    const before = stripe.sessions.size
    await owner.call('POST /card/top-up', { body: { amount: '9.00' } })
    expect(stripe.sessions.size).toBe(before + 1)
  })
})

describe('a delivery', () => {
  it('is refused without a signature that matches', async () => {
    const event = { id: 'evt_forged', type: 'charge.refunded', created: 1, data: { object: {} } }
    expect(await deliver(url(), event, { secret: 'whsec_another0123456789' })).toBe(400)
    expect(await deliver(url(), event, { timestamp: Math.floor(Date.now() / 1000) - 4000 })).toBe(400)
    const post = (init: RequestInit) => fetch(`${url()}/stripe/webhook`, { method: 'POST', ...init })
    expect((await post({ body: '{}' })).status).toBe(400)
    expect((await post({ body: '{}', headers: { 'stripe-signature': 't=1,v1=aa' } })).status).toBe(400)
    const current = `t=${Math.floor(Date.now() / 1000)},v1=${'a'.repeat(64)}`
    const large = { body: 'x'.repeat(1024 * 1024 + 1), headers: { 'stripe-signature': current } }
    expect((await post(large)).status).toBe(413)
    expect(WEBHOOK_SECRET).not.toBe('')
  })

  it('of another kind, or about payments of others, changes nothing', async () => {
    const strange = { id: 'evt_strange', object: 'event', type: 'radar.early', created: 1, data: { object: {} } }
    expect(await deliver(url(), strange)).toBe(200)
    const charge = { id: 'ch_x', object: 'charge', paid: true, captured: true, amount_captured: 500, currency: 'usd' }
    const foreign = { ...charge, metadata: { millrace_payment: 'pay_of_another_server' }, amount_refunded: 0 }
    const event = {
      id: 'evt_foreign',
      object: 'event',
      type: 'charge.succeeded',
      created: 1,
      data: { object: foreign },
    }
    expect(await deliver(url(), event)).toBe(200)
  })

  it('in another currency credits nothing', async () => {
    const owner = await openOwner()
    const { payment, events } = await payAtStripe(owner, '6.00')
    const completed = structuredClone(ofType(events, 'checkout.session.completed'))
    completed.data.object.currency = 'eur'
    expect(await deliver(url(), { ...completed, id: 'evt_eur' })).toBe(200)
    const { items } = await owner.call('GET /payments')
    expect(items).toMatchObject([{ id: payment, state: 'open' }])
    expect(await balanceOf(owner)).toBe('0.00')
  })
})
