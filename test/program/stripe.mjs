// A local stand-in of the endpoints of Stripe that Millrace uses: checkout sessions with a page, payment intents, charges, refunds,
// disputes, prices, subscriptions and invoices. It keeps idempotency keys, can fail or fall silent before or after it has acted, and
// signs events with the package's own generator.
import { createServer } from 'node:http'
import Stripe from 'stripe'

export const SECRET_KEY = 'sk_test_standin0123456789'
export const WEBHOOK_SECRET = 'whsec_standin0123456789abcdef'
const { webhooks } = new Stripe(SECRET_KEY, { telemetry: false })

/** A card that is declined, and one that is not. */
export const DECLINED = 'pm_card_chargeDeclined'
export const VISA = 'pm_card_visa'

/** `now`: milliseconds, for the times of objects. */
export async function startStripe({ now = Date.now, port = 0 } = {}) {
  const state = createState(now)
  const server = createServer((request, response) => serve(state, request, response))
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve))
  state.origin = `http://127.0.0.1:${server.address().port}`
  return {
    ...state.controls,
    origin: state.origin,
    config: (more = '') =>
      [
        'payments:',
        '  stripe:',
        `    secret_key: ${SECRET_KEY}`,
        `    webhook_secret: ${WEBHOOK_SECRET}`,
        `    api_base: ${state.origin}`,
        ...more.split('\n').map((line) => (line === '' ? '' : `    ${line}`)),
        '',
      ].join('\n'),
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Posts an event as Stripe does, and resolves to the status; 0 without an answer. */
export async function deliver(url, event, { secret = WEBHOOK_SECRET, timestamp, body } = {}) {
  const payload = body ?? JSON.stringify(event)
  const header = webhooks.generateTestHeaderString({ payload, secret, ...(timestamp !== undefined && { timestamp }) })
  try {
    const headers = { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': header }
    const response = await fetch(`${url}/stripe/webhook`, { method: 'POST', headers, body: payload })
    await response.text()
    return response.status
  } catch {
    return 0
  }
}

function createState(now) {
  const tables = {
    sessions: new Map(),
    intents: new Map(),
    disputes: new Map(),
    prices: new Map(),
    subscriptions: new Map(),
    invoices: new Map(),
  }
  const state = {
    ...tables,
    invoicePayments: [],
    lostCustomers: new Set(),
    now,
    events: [],
    faults: [],
    answers: new Map(),
    calls: [],
    count: 0,
    origin: '',
  }
  state.id = (prefix) => `${prefix}_${String(++state.count).padStart(6, '0')}`
  state.seconds = () => Math.floor(now() / 1000)
  state.emit = (type, object) => {
    const event = {
      id: state.id('evt'),
      object: 'event',
      type,
      created: state.seconds(),
      api_version: '2026-10-28.endive',
    }
    state.events.push({ ...event, livemode: false, data: { object: structuredClone(object) } })
  }
  state.controls = controlsOf(state)
  return state
}

/** What customers, banks and the owner of the Stripe account do. */
function controlsOf(state) {
  const chargeOf = (intent) => state.intents.get(intent).latest_charge
  return {
    /** Signed and sent by `deliver`; in the order in which they happened. */
    events: state.events,
    /** `{ path, times, how }`: `fail` answers 500, `silent-before` and `silent-after` drop the connection. */
    faults: state.faults,
    calls: state.calls,
    intents: state.intents,
    sessions: state.sessions,
    subscriptions: state.subscriptions,
    /** Those of the other mode, and deleted ones. */
    lostCustomers: state.lostCustomers,
    /** The intent that has paid the newest invoice of a subscription. */
    intentOf: (subscription) =>
      state.invoicePayments.findLast(({ invoice }) => invoice.parent.subscription_details.subscription === subscription)
        .intent,
    addPrice: (id, cents = 2000) =>
      state.prices.set(id, {
        ...{ id, object: 'price', active: true, currency: 'usd', unit_amount: cents, recurring: { interval: 'month' } },
      }),
    pay: (session) => paySession(state, state.sessions.get(session)),
    expire(session) {
      const found = Object.assign(state.sessions.get(session), { status: 'expired' })
      state.emit('checkout.session.expired', found)
    },
    refund(intent, cents) {
      const charge = chargeOf(intent)
      charge.amount_refunded = Math.min(charge.amount, charge.amount_refunded + cents)
      charge.refunded = charge.amount_refunded === charge.amount
      state.emit('charge.refunded', charge)
    },
    dispute(intent, cents, status = 'needs_response') {
      const facts = { amount: cents, currency: 'usd', status, payment_intent: intent }
      const dispute = { id: state.id('dp'), object: 'dispute', created: state.seconds(), ...facts }
      state.disputes.set(dispute.id, { ...dispute, charge: chargeOf(intent).id })
      state.emit('charge.dispute.created', state.disputes.get(dispute.id))
      return dispute.id
    },
    closeDispute(id, status) {
      const dispute = Object.assign(state.disputes.get(id), { status })
      state.emit('charge.dispute.closed', dispute)
    },
    /** An inquiry becomes a dispute. */
    escalate(id) {
      const dispute = Object.assign(state.disputes.get(id), { status: 'needs_response' })
      state.emit('charge.dispute.updated', dispute)
    },
    renew: (subscription) => payInvoice(state, state.subscriptions.get(subscription), 'subscription_cycle'),
    setStatus(subscription, status) {
      const found = Object.assign(state.subscriptions.get(subscription), { status })
      state.emit(status === 'canceled' ? 'customer.subscription.deleted' : 'customer.subscription.updated', found)
    },
  }
}

const MONTH_SECONDS = 30 * 86_400

function paySession(state, session) {
  if (session.status !== 'open') return
  session.customer ??= state.id('cus')
  Object.assign(session, { status: 'complete', payment_status: 'paid' })
  if (session.mode === 'subscription') {
    const facts = { customer: session.customer, metadata: session.subscription_data?.metadata ?? {}, status: 'active' }
    const more = { cancel_at_period_end: false, cancel_at: null, start: state.seconds(), periods: 0 }
    const subscription = { id: state.id('sub'), object: 'subscription', ...facts, ...more, cents: session.amount_total }
    state.subscriptions.set(subscription.id, subscription)
    session.subscription = subscription.id
    state.emit('customer.subscription.created', subscription)
    payInvoice(state, subscription, 'subscription_create')
  } else {
    const facts = { amount: session.amount_total, customer: session.customer, payment_method: VISA }
    const { metadata = {}, setup_future_usage: usage = null } = session.payment_intent_data ?? {}
    const intent = createIntent(state, { ...facts, metadata, setup_future_usage: usage })
    succeed(state, intent)
    session.payment_intent = intent.id
  }
  state.emit('checkout.session.completed', session)
}

function payInvoice(state, subscription, reason) {
  const start = subscription.start + subscription.periods * MONTH_SECONDS
  subscription.periods += 1
  const details = { subscription: subscription.id, metadata: subscription.metadata }
  const invoice = {
    ...{ id: state.id('in'), object: 'invoice', status: 'paid', created: state.seconds(), currency: 'usd' },
    ...{ amount_paid: subscription.cents, customer: subscription.customer, billing_reason: reason },
    parent: { type: 'subscription_details', subscription_details: details },
    lines: { object: 'list', data: [{ period: { start, end: start + MONTH_SECONDS } }], has_more: false },
    hosted_invoice_url: `${state.origin}/invoice`,
  }
  state.invoices.set(invoice.id, invoice)
  // Its charge has none of the metadata of the subscription, as at Stripe.
  const facts = { amount: subscription.cents, customer: subscription.customer, payment_method: VISA, metadata: {} }
  const intent = createIntent(state, facts)
  succeed(state, intent)
  state.invoicePayments.push({ id: state.id('inpay'), object: 'invoice_payment', invoice, intent: intent.id })
  state.emit('invoice.paid', invoice)
}

function createIntent(state, facts) {
  const intent = {
    ...{
      id: state.id('pi'),
      object: 'payment_intent',
      created: state.seconds(),
      currency: 'usd',
      status: 'requires_confirmation',
    },
    ...{ amount_received: 0, latest_charge: null, setup_future_usage: null, last_payment_error: null, ...facts },
  }
  state.intents.set(intent.id, intent)
  return intent
}

function succeed(state, intent) {
  const charge = {
    ...{
      id: state.id('ch'),
      object: 'charge',
      created: state.seconds(),
      amount: intent.amount,
      amount_captured: intent.amount,
    },
    ...{ amount_refunded: 0, refunded: false, paid: true, captured: true, currency: 'usd', payment_intent: intent.id },
    ...{ metadata: intent.metadata, receipt_url: `${state.origin}/receipt/${intent.id}` },
    payment_method_details: { type: 'card', card: { brand: 'visa', last4: '4242' } },
  }
  Object.assign(intent, { status: 'succeeded', amount_received: intent.amount, latest_charge: charge })
  state.emit('charge.succeeded', charge)
  state.emit('payment_intent.succeeded', { ...intent, latest_charge: charge.id })
}

async function serve(state, request, response) {
  const url = new URL(request.url, state.origin)
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  if (url.pathname.startsWith('/pay/')) return servePage(state, request, response, url.pathname.slice('/pay/'.length))
  const form = parseForm(request.method === 'GET' ? url.search.slice(1) : Buffer.concat(chunks).toString())
  const name = `${request.method} ${url.pathname}`
  state.calls.push(name)
  const fault = state.faults.find(({ path, times }) => times > 0 && name.includes(path))
  if (fault !== undefined) fault.times -= 1
  if (fault?.how === 'silent-before') return response.destroy()
  if (fault?.how === 'fail') return send(response, 500, { error: { type: 'api_error', message: 'It is down.' } })
  if (request.headers.authorization !== `Bearer ${SECRET_KEY}`) {
    return send(response, 401, { error: { type: 'invalid_request_error', message: 'Invalid API Key provided' } })
  }
  const { status, body } = once(state, request.headers['idempotency-key'], JSON.stringify([name, form]), () =>
    answer(state, request.method, url.pathname.split('/').slice(2), form),
  )
  if (fault?.how === 'silent-after') return response.destroy()
  send(response, status, body)
}

/** The answer to a key is given again; another order under the same key is refused. */
function once(state, key, order, act) {
  if (key === undefined) return act()
  const known = state.answers.get(key)
  if (known === undefined) {
    const { status, body } = act()
    state.answers.set(key, { order, status, body: structuredClone(body) })
    return { status, body }
  }
  if (known.order === order) return known
  return refusal(400, {
    type: 'idempotency_error',
    message: 'Keys for idempotent requests can only be used with the same parameters',
  })
}

const ok = (body) => ({ status: 200, body })
const refusal = (status, error) => ({ status, body: { error } })

function answer(state, method, [first, second, third, fourth], form) {
  if (fourth === 'expire') return expireSession(state, state.sessions.get(third))
  const path = first === 'checkout' ? 'sessions' : first
  const id = first === 'checkout' ? third : second
  switch (`${method} ${path}${id === undefined ? '' : '/'}`) {
    case 'POST sessions':
      return createSession(state, form)
    case 'POST payment_intents':
      return charge(state, form)
    case 'GET payment_intents':
      return ok(listOf([...state.intents.values()], form))
    case 'GET invoice_payments': {
      const paid = state.invoicePayments.filter(({ intent }) => intent === form.payment.payment_intent)
      return ok({ object: 'list', data: paid, has_more: false, url: '/v1' })
    }
    case 'GET disputes':
      return ok(listOf([...state.disputes.values()], form))
    case 'GET invoices':
      return ok(
        listOf(
          [...state.invoices.values()].filter(
            (each) => each.parent.subscription_details.subscription === form.subscription,
          ),
          form,
        ),
      )
    case 'POST subscriptions/': {
      const found = state.subscriptions.get(id)
      if (found === undefined) break
      found.cancel_at_period_end = form.cancel_at_period_end === 'true'
      state.emit('customer.subscription.updated', found)
      return ok(found)
    }
  }
  const table = {
    sessions: state.sessions,
    payment_intents: state.intents,
    prices: state.prices,
    subscriptions: state.subscriptions,
  }[path]
  const found = method === 'GET' ? table?.get(id) : undefined
  return found === undefined
    ? refusal(404, { type: 'invalid_request_error', code: 'resource_missing', message: `No such object: '${id}'` })
    : ok(found)
}

function expireSession(state, session) {
  if (session === undefined) return refusal(404, { type: 'invalid_request_error', code: 'resource_missing' })
  if (session.status !== 'open') {
    return refusal(400, { type: 'invalid_request_error', message: 'Only open sessions can be expired.' })
  }
  state.controls.expire(session.id)
  return ok(session)
}

function createSession(state, form) {
  if (state.lostCustomers.has(form.customer)) {
    const error = { type: 'invalid_request_error', code: 'resource_missing', param: 'customer' }
    return refusal(400, { ...error, message: `No such customer: '${form.customer}'` })
  }
  const [item] = Object.values(form.line_items ?? {})
  const price = item.price === undefined ? undefined : state.prices.get(item.price)
  if (item.price !== undefined && price === undefined) {
    return refusal(400, { type: 'invalid_request_error', message: `No such price: '${item.price}'` })
  }
  const id = state.id('cs_test')
  const session = {
    ...{ ...form, id, object: 'checkout.session', created: state.seconds(), status: 'open', payment_status: 'unpaid' },
    ...{ currency: 'usd', amount_total: price?.unit_amount ?? Number(item.price_data.unit_amount) },
    ...{
      payment_intent: null,
      customer: form.customer ?? null,
      metadata: form.metadata ?? {},
      url: `${state.origin}/pay/${id}`,
    },
  }
  state.sessions.set(id, session)
  return ok(session)
}

function charge(state, { amount, customer, payment_method, metadata }) {
  const intent = createIntent(state, { amount: Number(amount), customer, payment_method, metadata })
  if (payment_method !== DECLINED && !state.declines?.has(payment_method)) {
    succeed(state, intent)
    return ok(intent)
  }
  const error = { type: 'card_error', code: 'card_declined', message: 'Your card was declined.' }
  Object.assign(intent, { status: 'requires_payment_method', last_payment_error: error })
  state.emit('payment_intent.payment_failed', intent)
  return refusal(402, { ...error, payment_intent: intent })
}

/** The newest first. */
function listOf(rows, { limit = '10', created, starting_after: after }) {
  const since = Number(created?.gte ?? 0)
  const all = rows.filter((row) => row.created >= since).reverse()
  const from = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
  const data = all.slice(from, from + Number(limit))
  return { object: 'list', data, has_more: from + data.length < all.length, url: '/v1' }
}

function servePage(state, request, response, id) {
  const session = state.sessions.get(id)
  if (session === undefined) return send(response, 404, { error: { message: 'There is no such page.' } })
  if (request.method === 'POST') {
    paySession(state, session)
    response.writeHead(303, { location: session.success_url }).end()
    return
  }
  const amount = `$${(session.amount_total / 100).toFixed(2)}`
  response.writeHead(200, { 'content-type': 'text/html' })
  response.end(`<!doctype html><title>Checkout</title><form method="post"><button id="pay">Pay ${amount}</button></form>
    <a id="back" href="${session.cancel_url.replaceAll('&', '&amp;')}">Back</a>`)
}

function send(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_standin' })
  response.end(JSON.stringify(body))
}

/** `a[b][0]=c` as `{ a: { b: { 0: 'c' } } }`. */
function parseForm(text) {
  const form = {}
  for (const [name, value] of new URLSearchParams(text)) {
    const steps = name.split(/[[\]]+/).filter((step) => step !== '')
    const last = steps.pop()
    let target = form
    for (const step of steps) target = target[step] ??= {}
    target[last] = value
  }
  return form
}
