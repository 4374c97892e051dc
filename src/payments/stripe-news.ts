import type Stripe from 'stripe'
import type {
  DisputeNews,
  PaidInvoice,
  PaymentNews,
  PaymentState,
  ProviderEvent,
  SubscriptionNews,
} from './provider.ts'

/** The names under which Stripe keeps our ids. */
export const PAYMENT = 'millrace_payment'
export const ACCOUNT = 'millrace_account'
export const PLAN = 'millrace_plan'

const NANO_PER_CENT = 10_000_000n

export const centsOf = (nano: bigint): number => {
  const cents = Number(nano / NANO_PER_CENT)
  if (nano % NANO_PER_CENT !== 0n || !Number.isSafeInteger(cents)) throw new RangeError(`${nano} is not whole cents`)
  return cents
}

/** Undefined where it is not dollars: no other money is credited. */
const nanoOf = (cents: number | null | undefined, currency: string | null | undefined): bigint | undefined =>
  cents == null || !Number.isSafeInteger(cents) || cents < 0 || currency?.toLowerCase() !== 'usd'
    ? undefined
    : BigInt(cents) * NANO_PER_CENT

const idOf = (named: string | { readonly id: string } | null | undefined): string | undefined =>
  typeof named === 'string' ? named : named?.id

type Metadata = Readonly<Record<string, string>> | null | undefined

const ofMetadata = (metadata: Metadata, name: string): string | undefined => metadata?.[name] || undefined

const FAILURE_MAX = 300
const failureOf = (message: string | null | undefined) => message?.slice(0, FAILURE_MAX) || undefined

export function newsOfSession(session: Stripe.Checkout.Session): PaymentNews {
  const { payment_status: paid, status } = session
  const isPaid = session.mode === 'payment' && paid === 'paid'
  const state: PaymentState = isPaid ? 'paid' : status === 'expired' ? 'expired' : 'open'
  return {
    payment: ofMetadata(session.metadata, PAYMENT),
    state,
    session: session.id,
    intent: idOf(session.payment_intent),
    received: isPaid ? nanoOf(session.amount_total, session.currency) : undefined,
    customer: idOf(session.customer),
  }
}

export function newsOfIntent(intent: Stripe.PaymentIntent): PaymentNews {
  const charge =
    typeof intent.latest_charge === 'object' && intent.latest_charge !== null ? intent.latest_charge : undefined
  const isPaid = intent.status === 'succeeded'
  return {
    ...(charge === undefined ? {} : newsOfCharge(charge)),
    payment: ofMetadata(intent.metadata, PAYMENT),
    state: isPaid ? 'paid' : intent.status === 'canceled' ? 'expired' : 'open',
    intent: intent.id,
    received: isPaid ? nanoOf(intent.amount_received, intent.currency) : undefined,
    failure: failureOf(intent.last_payment_error?.message),
    customer: idOf(intent.customer),
    card: isPaid && intent.setup_future_usage === 'off_session' ? cardOf(intent, charge) : undefined,
  }
}

function cardOf(intent: Stripe.PaymentIntent, charge: Stripe.Charge | undefined) {
  const [customer, method] = [idOf(intent.customer), idOf(intent.payment_method)]
  if (customer === undefined || method === undefined) return undefined
  const card = charge?.payment_method_details?.card
  return { customer, method, shown: card?.last4 ? `${card.brand ?? 'card'} ${card.last4}` : undefined }
}

function newsOfCharge(charge: Stripe.Charge): PaymentNews {
  const isPaid = charge.paid && charge.captured
  return {
    payment: ofMetadata(charge.metadata, PAYMENT),
    state: isPaid ? 'paid' : undefined,
    intent: idOf(charge.payment_intent),
    received: isPaid ? nanoOf(charge.amount_captured, charge.currency) : undefined,
    refunded: nanoOf(charge.amount_refunded, charge.currency),
    receiptUrl: charge.receipt_url ?? undefined,
  }
}

/** An inquiry takes no money, and may become a dispute that does. */
const INQUIRIES = new Set(['warning_needs_response', 'warning_under_review', 'warning_closed', 'prevented'])

export function newsOfDispute({ status, ...dispute }: Stripe.Dispute, at: number): PaymentNews {
  const amount = nanoOf(dispute.amount, dispute.currency)
  const isTold = amount !== undefined && !INQUIRIES.has(status)
  const state: DisputeNews['state'] = status === 'lost' ? 'lost' : status === 'won' ? 'won' : 'open'
  return {
    payment: undefined,
    intent: idOf(dispute.payment_intent),
    dispute: isTold ? { state, amount, at } : undefined,
  }
}

export function newsOfSubscription(subscription: Stripe.Subscription, at: number): SubscriptionNews {
  return {
    subscription: subscription.id,
    account: ofMetadata(subscription.metadata, ACCOUNT),
    plan: ofMetadata(subscription.metadata, PLAN),
    customer: idOf(subscription.customer),
    at,
    status: subscription.status,
    // An ended one does not renew either.
    cancelsAtEnd:
      subscription.cancel_at_period_end || subscription.cancel_at != null || subscription.status === 'canceled',
  }
}

/** Of a subscription, or undefined. */
export function newsOfInvoice(invoice: Stripe.Invoice, at: number): SubscriptionNews | undefined {
  const details = invoice.parent?.subscription_details
  const subscription = idOf(details?.subscription)
  const amount = nanoOf(invoice.amount_paid, invoice.currency)
  if (subscription === undefined || amount === undefined || invoice.id === undefined || invoice.status !== 'paid')
    return undefined
  const ends = invoice.lines.data.map(({ period }) => period.end)
  const paid: PaidInvoice = {
    invoice: invoice.id,
    payment: invoice.billing_reason === 'subscription_create' ? ofMetadata(details?.metadata, PAYMENT) : undefined,
    amount,
    periodEnd: Math.max(0, ...ends) * 1000,
    receiptUrl: invoice.hosted_invoice_url ?? undefined,
  }
  return {
    subscription,
    account: ofMetadata(details?.metadata, ACCOUNT),
    plan: ofMetadata(details?.metadata, PLAN),
    customer: idOf(invoice.customer),
    at,
    paid,
  }
}

const ignored = { kind: 'ignored' } as const
const payment = (news: PaymentNews) => ({ kind: 'payment', payment: news }) as const
const subscription = (news: SubscriptionNews | undefined) =>
  news === undefined ? ignored : ({ kind: 'subscription', subscription: news } as const)

/** What an event says. All that are not named here are ignored. */
export function newsOfEvent(event: Stripe.Event): ProviderEvent['news'] {
  const at = event.created * 1000
  switch (event.type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
    case 'checkout.session.expired':
      return payment(newsOfSession(event.data.object))
    case 'checkout.session.async_payment_failed':
      return payment({ ...newsOfSession(event.data.object), state: 'failed', failure: 'The payment failed.' })
    case 'payment_intent.succeeded':
    case 'payment_intent.canceled':
      return payment(newsOfIntent(event.data.object))
    case 'charge.succeeded':
    case 'charge.refunded':
    case 'charge.updated':
      return payment(newsOfCharge(event.data.object))
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.closed':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated':
      return payment(newsOfDispute(event.data.object, at))
    case 'invoice.paid':
      return subscription(newsOfInvoice(event.data.object, at))
    case 'customer.subscription.created':
    case 'customer.subscription.updated':
    case 'customer.subscription.deleted':
      return subscription(newsOfSubscription(event.data.object, at))
    default:
      return ignored
  }
}
