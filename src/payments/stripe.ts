import type Stripe from 'stripe'
import {
  type ChargeOrder,
  type CheckoutOrder,
  type PaymentNews,
  type PaymentProvider,
  PaymentProviderFailed,
  type StripeConfig,
  type SubscriptionNews,
} from './provider.ts'
import {
  ACCOUNT,
  centsOf,
  newsOfDispute,
  newsOfEvent,
  newsOfIntent,
  newsOfInvoice,
  newsOfSession,
  newsOfSubscription,
  PAYMENT,
  PLAN,
} from './stripe-news.ts'

const TIMEOUT_MS = 20_000
const RETRIES = 1
const PAGE = 100
/** A delivery that is older was not sent by Stripe now: each retry of theirs is signed again. */
export const TOLERANCE_SECONDS = 300
const EXPAND = ['latest_charge']

/** Stripe through its own package, which is loaded with the first use. */
export function createStripe({ secretKey, webhookSecret, apiBase, terms }: StripeConfig): PaymentProvider {
  let opened: Promise<Stripe> | undefined
  const stripe = () => (opened ??= openStripe(secretKey.reveal(), apiBase))
  const ask = async <Answer>(question: (client: Stripe) => Promise<Answer>): Promise<Answer> => {
    const client = await stripe()
    try {
      return await question(client)
    } catch (error) {
      throw failureOf(client, error)
    }
  }
  return {
    startTopUp: ({ amount, savesCard, ...order }) =>
      startCheckout(ask, order, {
        mode: 'payment',
        line_items: [
          { quantity: 1, price_data: { currency: 'usd', unit_amount: centsOf(amount), product_data: PRODUCT } },
        ],
        payment_intent_data: {
          metadata: metadataOf(order),
          ...(savesCard && { setup_future_usage: 'off_session' as const }),
        },
        ...(savesCard && order.customer === undefined && { customer_creation: 'always' as const }),
      }),
    startPlan: ({ plan, price, ...order }) =>
      startCheckout(ask, order, {
        mode: 'subscription',
        line_items: [{ quantity: 1, price }],
        subscription_data: { metadata: { ...metadataOf(order), [PLAN]: plan } },
      }),
    charge: (order) => ask((client) => charge(client, order)),
    readCheckout: (session) => ask(async (client) => newsOfSession(await client.checkout.sessions.retrieve(session))),
    readIntent: (intent) =>
      ask(async (client) => newsOfIntent(await client.paymentIntents.retrieve(intent, { expand: EXPAND }))),
    readInvoiceOf: (intent) =>
      ask(async (client) => {
        const payment = { type: 'payment_intent', payment_intent: intent } as const
        const { data } = await client.invoicePayments.list({ payment, limit: 1, expand: ['data.invoice'] })
        const invoice = data[0]?.invoice
        return typeof invoice === 'object' && !('deleted' in invoice)
          ? newsOfInvoice(invoice, invoice.created * 1000)
          : undefined
      }),
    expireCheckout: (id) =>
      ask(async (client) => {
        try {
          await client.checkout.sessions.expire(id)
          return true
        } catch (error) {
          // It is not open any more.
          if (!(error instanceof client.errors.StripeInvalidRequestError)) throw error
          return (await client.checkout.sessions.retrieve(id)).status !== 'complete'
        }
      }),
    listPayments: (since, max) =>
      ask(async (client) => {
        const query = { limit: PAGE, created: { gte: seconds(since) }, expand: EXPAND.map((name) => `data.${name}`) }
        return (await client.paymentIntents.list(query).autoPagingToArray({ limit: max })).map(newsOfIntent)
      }),
    listDisputes: (since, max) =>
      ask(async (client) => {
        const query = { limit: PAGE, created: { gte: seconds(since) } }
        const found = await client.disputes.list(query).autoPagingToArray({ limit: max })
        return found.map((dispute) => newsOfDispute(dispute, dispute.created * 1000))
      }),
    readSubscription: (id, now) => ask((client) => readSubscription(client, id, now)),
    setRenewal: (id, renews, now) =>
      ask(async (client) => {
        const changed = await client.subscriptions.update(id, { cancel_at_period_end: !renews })
        return newsOfSubscription(changed, now)
      }),
    async verifyEvent(body, signature, now) {
      const { webhooks, errors } = await stripe()
      const secret = webhookSecret.reveal()
      try {
        const event = webhooks.constructEvent(body, signature, secret, TOLERANCE_SECONDS, undefined, now)
        return { kind: 'event', event: { id: event.id, type: event.type, news: newsOfEvent(event) } }
      } catch (error) {
        if (error instanceof errors.StripeSignatureVerificationError || error instanceof SyntaxError)
          return { kind: 'refused', message: 'The signature does not match, or is too old.' }
        throw error
      }
    },
    examine: () => examine(stripe, terms.plans),
  }
}

type Ask = <Answer>(question: (client: Stripe) => Promise<Answer>) => Promise<Answer>

const PRODUCT = { name: 'Credit for API requests' }

const seconds = (ms: number): number => Math.floor(ms / 1000)

const metadataOf = ({ payment, account }: Pick<CheckoutOrder, 'payment' | 'account'>) => ({
  [PAYMENT]: payment,
  [ACCOUNT]: account,
})

async function openStripe(key: string, apiBase: string): Promise<Stripe> {
  const { default: Client } = await import('stripe')
  const { hostname, port, protocol } = new URL(apiBase)
  return new Client(key, {
    host: hostname,
    port: port || (protocol === 'https:' ? 443 : 80),
    protocol: protocol === 'https:' ? 'https' : 'http',
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
  })
}

/** Never with the text of a request, which has the key. */
function failureOf({ errors }: Stripe, error: unknown): unknown {
  if (!(error instanceof errors.StripeError)) return error
  if (error instanceof errors.StripeConnectionError) return new PaymentProviderFailed(error.message, 'unreachable')
  const isUnknown =
    error instanceof errors.StripeAPIError ||
    error instanceof errors.StripeRateLimitError ||
    error instanceof errors.StripeIdempotencyError
  if (error.code === 'resource_missing' && error.param === 'customer')
    return new PaymentProviderFailed(error.message, 'no-customer')
  const message = error instanceof errors.StripeAuthenticationError ? 'Stripe refuses the secret key.' : error.message
  return new PaymentProviderFailed(message, isUnknown ? 'unknown' : 'refused')
}

async function startCheckout(ask: Ask, order: CheckoutOrder, params: Stripe.Checkout.SessionCreateParams) {
  const { payment, account, customer, email, returnUrl, cancelUrl } = order
  const session = await ask((client) =>
    client.checkout.sessions.create(
      {
        ...params,
        client_reference_id: account,
        metadata: metadataOf(order),
        success_url: returnUrl,
        cancel_url: cancelUrl,
        ...(customer === undefined ? { customer_email: email } : { customer }),
      },
      // Another order once the customer is not sent any more.
      { idempotencyKey: `checkout-${payment}${customer === undefined ? '' : `-${customer}`}` },
    ),
  )
  if (!session.url) throw new PaymentProviderFailed('Stripe gave no page for the payment.', 'refused')
  return { session: session.id, url: session.url }
}

/** A declined card is an answer: it fails the payment. */
async function charge(client: Stripe, order: ChargeOrder): Promise<PaymentNews> {
  const { payment, amount, customer, method } = order
  try {
    const intent = await client.paymentIntents.create(
      {
        ...{ amount: centsOf(amount), currency: 'usd', customer, payment_method: method },
        ...{ off_session: true, confirm: true, metadata: metadataOf(order), expand: EXPAND },
        automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
      },
      { idempotencyKey: `charge-${payment}` },
    )
    const news = newsOfIntent(intent)
    const isDone = intent.status === 'succeeded' || intent.status === 'processing'
    return isDone
      ? news
      : { ...news, state: 'failed', failure: news.failure ?? `The card needs its owner (${intent.status}).` }
  } catch (error) {
    const { errors } = client
    // The order was given before with a card that was replaced since: what it has come to is looked up later.
    if (error instanceof errors.StripeIdempotencyError) return { payment }
    if (!(error instanceof errors.StripeCardError || error instanceof errors.StripeInvalidRequestError)) throw error
    return { payment, state: 'failed', failure: error.message, intent: error.payment_intent?.id }
  }
}

/** Its state and its newest paid invoices. */
async function readSubscription(client: Stripe, id: string, now: number): Promise<readonly SubscriptionNews[]> {
  const subscription = await client.subscriptions.retrieve(id)
  const { data } = await client.invoices.list({ subscription: id, status: 'paid', limit: 10 })
  const invoices = data.flatMap((invoice) => newsOfInvoice(invoice, invoice.created * 1000) ?? [])
  return [newsOfSubscription(subscription, now), ...invoices]
}

async function examine(stripe: () => Promise<Stripe>, plans: ReadonlyMap<string, string>): Promise<readonly string[]> {
  const wrong: string[] = []
  const client = await stripe().catch(() => undefined)
  if (client === undefined) return ['The package stripe is not installed.']
  for (const [plan, id] of plans) {
    try {
      const price = await client.prices.retrieve(id)
      if (!price.active) wrong.push(`The price ${id} of the plan ${plan} is not active at Stripe.`)
      else if (price.recurring === null) wrong.push(`The price ${id} of the plan ${plan} does not recur.`)
      else if (price.currency !== 'usd') wrong.push(`The price ${id} of the plan ${plan} is not in USD.`)
    } catch (error) {
      wrong.push(`The price ${id} of the plan ${plan}: ${(failureOf(client, error) as Error).message}`)
    }
  }
  if (plans.size > 0) return wrong
  await client.paymentIntents.list({ limit: 1 }).catch((error: unknown) => {
    wrong.push((failureOf(client, error) as Error).message)
  })
  return wrong
}
