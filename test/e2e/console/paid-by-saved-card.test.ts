import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { topUpWallets } from '../../../src/admin/automatic-top-ups.ts'
import { DECLINED, deliver, type StripeEvent, type StripeStandIn, startStripe } from '../../program/stripe.mjs'
import { type ConsolePerson, PASSWORD, signUp } from '../../support/console-session.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

let stripe: StripeStandIn
let server: TestServer
let ahead = 0

beforeAll(async () => {
  stripe = await startStripe({ now: () => Date.now() + ahead })
  stripe.addPrice('price_pro', 2000)
  server = await startServer({
    config: `${PLANS_CONFIG}\n${stripe.config('plans: [{ plan: pro, price: price_pro }]')}`,
  })
})
afterAll(async () => {
  await server?.close()
  await stripe?.close()
})

function advance(ms: number): void {
  ahead += ms
  server.advance(ms)
}

/** A session does not last for weeks. */
const signIn = (owner: ConsolePerson) =>
  owner.call('POST /session', { body: { email: owner.email, password: PASSWORD } })

async function deliverOne(event: StripeEvent): Promise<void> {
  const timestamp = Math.floor((Date.now() + ahead) / 1000)
  expect(await deliver(`http://127.0.0.1:${server.port}`, event, { timestamp })).toBe(200)
}

let delivered = 0
async function deliverNews(): Promise<void> {
  for (; delivered < stripe.events.length; delivered++) await deliverOne(stripe.events[delivered]!)
}

async function buyPro(owner: ConsolePerson): Promise<string> {
  return (await owner.call('POST /plans/buy', { body: { plan: 'pro' } })).url.split('/').at(-1)!
}

const disputeOf = (page: string) => stripe.dispute(stripe.intentOf(stripe.sessions.get(page)!.subscription!), 2000)

let people = 0
async function openOwner(): Promise<ConsolePerson & { readonly account: string }> {
  const email = `saver${++people}@example.com`
  const { id } = await server.operate('accounts.create', { email })
  return Object.assign(await signUp(server, { email, account: id }), { account: id })
}

const balanceOf = async ({ account }: { readonly account: string }) =>
  (await server.operate('wallet.show', { account })).balance
const unfinished: string[] = []
const topUp = () => topUpWallets(server.app.operations, { onUnfinished: (payment) => unfinished.push(payment) })
const chargesOf = (payment: string) =>
  [...stripe.intents.values()].filter(({ metadata }) => metadata.millrace_payment === payment).length

/** With a saved card and 20.00, of which all but 2.00 is spent. */
async function openSaver(terms: { readonly month_max: string }) {
  const owner = await openOwner()
  const { url } = await owner.call('POST /card/top-up', { body: { amount: '20.00', save_card: true } })
  stripe.pay(url.split('/').at(-1)!)
  await deliverNews()
  const on = { on: true, below: '5.00', add: '10.00', ...terms }
  await owner.call('PUT /card/automatic', { body: on })
  await spend(owner, '18.00', 'first')
  return owner
}

const spend = ({ account }: { readonly account: string }, amount: string, ref: string) =>
  server.operate('wallet.refund', { account, amount, reason: 'spent', ref })

describe('a saved card', () => {
  it('is charged when the balance is low, up to the ceiling of the month', async () => {
    const owner = await openSaver({ month_max: '20.00' })
    await Promise.all([topUp(), topUp(), topUp()])
    expect(await balanceOf(owner)).toBe('12.00')
    await topUp()
    expect(await balanceOf(owner)).toBe('12.00')
    await spend(owner, '10.00', 'second')
    await topUp()
    await spend(owner, '10.00', 'third')
    await topUp()
    expect(await balanceOf(owner)).toBe('2.00')
    await deliverNews()
    expect(await balanceOf(owner)).toBe('2.00')
    const { automatic } = await owner.call('GET /card')
    expect(automatic).toMatchObject({ on: true, month_used: '20.00', failure: null })
    await owner.call('DELETE /card')
    await expectBalancedLedger(server)
  })

  it('is charged once when the answer is lost, and however often it is asked again', async () => {
    const owner = await openSaver({ month_max: '100.00' })
    stripe.faults.push({ path: 'POST /v1/payment_intents', times: 2, how: 'silent-after' })
    await topUp()
    expect(unfinished).toHaveLength(1)
    expect(await balanceOf(owner)).toBe('2.00')
    await Promise.all([topUp(), topUp()])
    expect(await balanceOf(owner)).toBe('12.00')
    expect(chargesOf(unfinished[0]!)).toBe(1)
    await owner.call('DELETE /card')
  })

  it('is not charged by terms that its owner has replaced, unless it was charged by then', async () => {
    const cases = [
      ['silent-before', { add: '5.00', month_max: '20.00' }, ['paid 5.00', 'failed 10.00', 'paid 10.00']],
      ['silent-before', { add: '10.00', month_max: '19.99' }, ['failed 10.00', 'paid 10.00']],
      ['silent-after', { add: '5.00', month_max: '19.99' }, ['paid 10.00', 'paid 10.00']],
    ] as const
    for (const [how, lower, payments] of cases) {
      const owner = await openSaver({ month_max: '20.00' })
      await topUp()
      await spend(owner, '10.00', 'second')
      unfinished.length = 0
      // An order, and the same once more.
      stripe.faults.push({ path: 'POST /v1/payment_intents', times: 2, how })
      await topUp()
      await owner.call('PUT /card/automatic', { body: { on: true, below: '5.00', ...lower } })
      for (let run = 0; run < 3; run++) await topUp()
      const { items } = await owner.call('GET /payments')
      const automatic = items.filter(({ kind }) => kind === 'automatic')
      expect(automatic.map(({ state, amount }) => `${state} ${amount}`)).toEqual(payments)
      expect([unfinished.length, chargesOf(unfinished[0]!)]).toEqual([1, how === 'silent-after' ? 1 : 0])
      expect((await owner.call('GET /card')).automatic).toMatchObject({ on: true, failure: null })
      await owner.call('DELETE /card')
    }
    await expectBalancedLedger(server)
  })

  it('that is declined is shown, tried later, and switched off', async () => {
    const owner = await openSaver({ month_max: '100.00' })
    const { db, files } = server.app.operations
    const { row } = await db
      .selectFrom('accounts')
      .select('row')
      .where('id', '=', owner.account)
      .executeTakeFirstOrThrow()
    await files.ledger.atomic([{ sql: 'UPDATE payers SET method = ? WHERE account = ?', rows: [[DECLINED, row]] }])
    await topUp()
    const failed = await owner.call('GET /card')
    expect(failed.automatic).toMatchObject({ on: true, failure: 'Your card was declined.' })
    // Not before an hour has passed.
    await topUp()
    expect((await owner.call('GET /payments')).items.filter(({ state }) => state === 'failed')).toHaveLength(1)
    for (const wait of [HOUR_MS, 2 * HOUR_MS]) {
      advance(wait + 1000)
      await topUp()
    }
    const off = await owner.call('GET /card')
    expect(off.automatic).toMatchObject({ on: false, failure: 'Your card was declined.' })
    advance(DAY_MS)
    await topUp()
    await signIn(owner)
    expect((await owner.call('GET /payments')).items.filter(({ state }) => state === 'failed')).toHaveLength(3)
    expect(await balanceOf(owner)).toBe('2.00')
  })

  it('is not charged again for money that was refunded or disputed', async () => {
    const owner = await openOwner()
    const { url } = await owner.call('POST /card/top-up', { body: { amount: '20.00', save_card: true } })
    const page = url.split('/').at(-1)!
    stripe.pay(page)
    await deliverNews()
    const on = { on: true, below: '5.00', add: '10.00', month_max: '100.00' }
    await owner.call('PUT /card/automatic', { body: on })
    const intent = stripe.sessions.get(page)!.payment_intent!
    stripe.refund(intent, 1700)
    await deliverNews()
    await topUp()
    expect(await balanceOf(owner)).toBe('3.00')
    const off = { on: false, failure: 'A payment was refunded or disputed.' }
    expect((await owner.call('GET /card')).automatic).toMatchObject(off)
    // The owner switches it on again, and the rest is refunded after it was spent.
    await spend(owner, '3.00', 'all')
    stripe.refund(intent, 300)
    await deliverNews()
    await owner.call('PUT /card/automatic', { body: on })
    await topUp()
    await server.operate('payments.reconcile', {})
    await topUp()
    expect(await balanceOf(owner)).toBe('0.00')
    expect((await owner.call('GET /payments')).items).toHaveLength(1)
    await owner.call('DELETE /card')
  })

  it('is needed for automatic top-ups', async () => {
    const owner = await openOwner()
    const body = { on: true, below: '5.00', add: '10.00', month_max: '20.00' }
    expect((await owner.send('PUT /card/automatic', { body })).error?.code).toBe('no_saved_card')
    expect((await owner.send('PUT /card/automatic', { body: { ...body, month_max: '9.00' } })).error?.code).toBe(
      'invalid_amount',
    )
  })
})

describe('a plan that is paid by card', () => {
  it('runs for each paid period, renews, and ends when its renewal is ended', async () => {
    const owner = await openOwner()
    expect((await owner.call('GET /plans/sold')).items).toMatchObject([{ plan: 'pro' }])
    const { payment, url } = await owner.call('POST /plans/buy', { body: { plan: 'pro' } })
    stripe.pay(url.split('/').at(-1)!)
    // In the wrong order.
    for (const event of stripe.events.slice(delivered).toReversed()) await deliverOne(event)
    delivered = stripe.events.length
    expect(await owner.call('GET /payments/:payment', { params: { payment } })).toMatchObject({
      state: 'paid',
      amount: '20.00',
    })
    const first = await owner.call('GET /plan')
    expect(first).toMatchObject({ state: 'active', plan: 'pro' })
    const again = await owner.send('POST /plans/buy', { body: { plan: 'pro' } })
    expect(again.error?.code).toBe('plan_bought')
    const [bought] = (await owner.call('GET /plans/sold')).bought
    const paidUntil = Date.parse(bought!.paid_until!)
    expect(bought).toMatchObject({ plan: 'pro', renews: true, status: 'active' })
    // The invoice of a renewal is paid after its period has begun.
    expect(Date.parse(first.until!)).toBe(paidUntil + 3 * HOUR_MS)

    advance(30 * DAY_MS + HOUR_MS)
    await signIn(owner)
    expect(await owner.call('GET /plan')).toMatchObject({ state: 'active' })
    stripe.renew(bought!.id)
    await deliverNews()
    expect(Date.parse((await owner.call('GET /plan')).until!)).toBe(paidUntil + 30 * DAY_MS + 3 * HOUR_MS)
    expect((await owner.call('GET /payments')).items).toHaveLength(2)

    // A card that fails keeps what is paid, and no longer.
    stripe.setStatus(bought!.id, 'past_due')
    await deliverNews()
    expect(await owner.call('GET /plan')).toMatchObject({ state: 'active' })
    const ended = await owner.call('PUT /plans/:purchase/renewal', {
      params: { purchase: bought!.id },
      body: { renews: false },
    })
    expect(ended.bought).toMatchObject([{ renews: false }])
    await deliverNews()
    expect(Date.parse((await owner.call('GET /plan')).until!)).toBe(paidUntil + 30 * DAY_MS)
    advance(30 * DAY_MS)
    await signIn(owner)
    expect(await owner.call('GET /plan')).toMatchObject({ state: 'ended' })
  })

  it('ends when its invoice is refunded in full, and not with a part of it', async () => {
    const owner = await openOwner()
    const page = await buyPro(owner)
    stripe.pay(page)
    const bought = stripe.sessions.get(page)!.subscription!
    const paid = stripe.events.slice(delivered)
    // The refund of a part arrives before its invoice.
    stripe.refund(stripe.intentOf(bought), 500)
    await deliverOne(stripe.events.at(-1)!)
    await deliverNews()
    expect(await owner.call('GET /plan')).toMatchObject({ state: 'active' })
    expect((await owner.call('GET /payments')).items).toMatchObject([{ amount: '20.00', refunded: '5.00' }])
    stripe.refund(stripe.intentOf(bought), 1500)
    await deliverNews()
    expect(await owner.call('GET /plan')).toMatchObject({ state: 'ended' })
    expect((await owner.call('GET /plans/sold')).bought).toMatchObject([{ renews: true, paid_until: null }])
    // Old news, and a reconciliation, bring nothing back.
    for (const event of paid) await deliverOne({ ...event, id: `${event.id}_again` })
    expect((await server.operate('payments.reconcile', {})).failures).toEqual([])
    expect(await owner.call('GET /plan')).toMatchObject({ state: 'ended' })
    // The next period is paid.
    advance(30 * DAY_MS)
    stripe.renew(bought)
    await deliverNews()
    await signIn(owner)
    expect(await owner.call('GET /plan')).toMatchObject({ state: 'active' })
  })

  it('ends while a dispute is open, comes back when it is won, and lasts as long as another purchase pays', async () => {
    const owner = await openOwner()
    const [first, second] = [await buyPro(owner), await buyPro(owner)]
    // Two pages that were opened at the same time.
    Object.assign(stripe.sessions.get(first)!, { status: 'open' })
    for (const page of [first, second]) {
      stripe.pay(page)
      await deliverNews()
      advance(HOUR_MS)
    }
    const until = async () => (await owner.call('GET /plan')).until
    const both = await until()
    const dispute = disputeOf(second)
    await deliverNews()
    // Stripe has whole seconds, and the two payments were a moment more than an hour apart.
    const less = Date.parse(both!) - Date.parse((await until())!)
    expect(Math.round(less / 60_000)).toBe(60)
    const other = disputeOf(first)
    await deliverNews()
    expect(await owner.call('GET /plan')).toMatchObject({ state: 'ended' })
    for (const each of [other, dispute]) stripe.closeDispute(each, 'won')
    await deliverNews()
    expect(await until()).toBe(both)
  })

  it('cannot be bought on two pages one after the other', async () => {
    const owner = await openOwner()
    const [first, second] = [await buyPro(owner), await buyPro(owner)]
    expect(stripe.sessions.get(first)!.status).toBe('expired')
    stripe.pay(second)
    // The webhook is late.
    expect((await owner.send('POST /plans/buy', { body: { plan: 'pro' } })).error?.code).toBe('plan_bought')
    await deliverNews()
    expect(await owner.call('GET /plan')).toMatchObject({ state: 'active' })
  })

  it('is found by a reconciliation, and of others not renewed', async () => {
    const [owner, other] = [await openOwner(), await openOwner()]
    const { url } = await owner.call('POST /plans/buy', { body: { plan: 'pro' } })
    stripe.pay(url.split('/').at(-1)!)
    const created = stripe.events.find(
      (event, at) => at >= delivered && event.type === 'customer.subscription.created',
    )!
    await deliverOne(created)
    expect(await owner.call('GET /plan')).toMatchObject({ state: 'none' })
    expect((await server.operate('payments.reconcile', {})).failures).toEqual([])
    expect(await owner.call('GET /plan')).toMatchObject({ state: 'active', plan: 'pro' })
    const [bought] = (await owner.call('GET /plans/sold')).bought
    const params = { purchase: bought!.id }
    expect((await other.send('PUT /plans/:purchase/renewal', { params, body: { renews: false } })).error?.code).toBe(
      'payment_not_found',
    )
    expect((await other.send('POST /plans/buy', { body: { plan: 'none' } })).error?.code).toBe('plan_not_found')
  })
})
