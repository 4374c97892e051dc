import type { Secret } from '../lib/secret.ts'

/** What an operator sells by card, and within which bounds. Amounts are nano-dollars in whole cents. */
export interface PaymentTerms {
  readonly topUpMin: bigint
  readonly topUpMax: bigint
  readonly automaticTopUp: boolean
  readonly renewalGraceMs: number
  /** The provider's price of each plan that is sold. */
  readonly plans: ReadonlyMap<string, string>
}

export interface StripeConfig {
  readonly secretKey: Secret
  readonly webhookSecret: Secret
  readonly apiBase: string
  readonly terms: PaymentTerms
}

/** Rises only: an open payment may fail and still be paid later, and a paid one stays paid. */
export type PaymentState = 'open' | 'failed' | 'expired' | 'paid'

export interface SavedCard {
  readonly customer: string
  readonly method: string
  /** `visa 4242` */
  readonly shown: string | undefined
}

/** What the provider says about one payment, from an event or an answer. Absent parts are unknown, and change nothing. */
export interface PaymentNews {
  /** Our id, as the provider keeps it; undefined: found by its intent. */
  readonly payment: string | undefined
  readonly state?: PaymentState | undefined
  readonly intent?: string | undefined
  readonly session?: string | undefined
  /** Nano-dollars; undefined where the currency is another one. */
  readonly received?: bigint | undefined
  /** Everything that was given back so far. */
  readonly refunded?: bigint | undefined
  readonly dispute?: DisputeNews | undefined
  readonly receiptUrl?: string | undefined
  readonly failure?: string | undefined
  readonly card?: SavedCard | undefined
  /** The customer whose payment it is. */
  readonly customer?: string | undefined
}

export interface DisputeNews {
  /** `open` and `lost`: the provider has taken the money back. */
  readonly state: 'open' | 'won' | 'lost'
  readonly amount: bigint
  /** Milliseconds. */
  readonly at: number
}

/** What the provider says about a plan that is paid by card. */
export interface SubscriptionNews {
  readonly subscription: string
  /** The id of our account and our plan, as the provider keeps them. */
  readonly account: string | undefined
  readonly plan: string | undefined
  readonly customer?: string | undefined
  /** When this was so, in milliseconds: news may arrive in any order. */
  readonly at: number
  readonly status?: string | undefined
  readonly cancelsAtEnd?: boolean | undefined
  /** A paid invoice. */
  readonly paid?: PaidInvoice | undefined
}

export interface PaidInvoice {
  readonly invoice: string
  /** The purchase that it pays; undefined for a renewal. */
  readonly payment: string | undefined
  readonly amount: bigint
  /** Milliseconds. */
  readonly periodEnd: number
  readonly receiptUrl: string | undefined
}

/** A verified event. `ignored`: it says nothing about payments. */
export interface ProviderEvent {
  readonly id: string
  readonly type: string
  readonly news:
    | { readonly kind: 'payment'; readonly payment: PaymentNews }
    | { readonly kind: 'subscription'; readonly subscription: SubscriptionNews }
    | { readonly kind: 'ignored' }
}

export type VerifiedEvent =
  | { readonly kind: 'event'; readonly event: ProviderEvent }
  | { readonly kind: 'refused'; readonly message: string }

/** Our payment, the account that pays, and where its page is. */
export interface CheckoutOrder {
  readonly payment: string
  readonly account: string
  readonly email: string
  readonly customer: string | undefined
  /** The page to which the provider returns. */
  readonly returnUrl: string
  readonly cancelUrl: string
}

export interface TopUpOrder extends CheckoutOrder {
  readonly amount: bigint
  readonly savesCard: boolean
}

export interface PlanOrder extends CheckoutOrder {
  readonly plan: string
  readonly price: string
}

export interface ChargeOrder {
  readonly payment: string
  readonly account: string
  readonly amount: bigint
  readonly customer: string
  readonly method: string
}

export interface StartedCheckout {
  readonly session: string
  readonly url: string
}

/**
 * A refusal of the provider, or no answer. `unknown` and `unreachable`: the order may have been carried out. `no-customer`: the
 * customer was deleted at the provider, or belongs to its other mode (test or live).
 */
export class PaymentProviderFailed extends Error {
  override readonly name = 'PaymentProviderFailed'
  readonly outcome: 'refused' | 'unknown' | 'unreachable' | 'no-customer'

  constructor(message: string, outcome: PaymentProviderFailed['outcome'], options?: ErrorOptions) {
    super(message, options)
    this.outcome = outcome
  }
}

/** Who takes cards. Every order has the id of a payment, and is carried out once however often it is given. */
export interface PaymentProvider {
  startTopUp(order: TopUpOrder): Promise<StartedCheckout>
  startPlan(order: PlanOrder): Promise<StartedCheckout>
  /** Charges a saved card without its owner. */
  charge(order: ChargeOrder): Promise<PaymentNews>
  readCheckout(session: string): Promise<PaymentNews>
  readIntent(intent: string): Promise<PaymentNews>
  /** The paid invoice of a plan that an intent has paid; undefined: it has paid something else. */
  readInvoiceOf(intent: string): Promise<SubscriptionNews | undefined>
  /** Closes an open page. False: it was paid already. */
  expireCheckout(session: string): Promise<boolean>
  /** The newest first, as far back as `since` in milliseconds. */
  listPayments(since: number, max: number): Promise<readonly PaymentNews[]>
  listDisputes(since: number, max: number): Promise<readonly PaymentNews[]>
  /** Its state at this time, in milliseconds, and its newest paid invoices. */
  readSubscription(subscription: string, now: number): Promise<readonly SubscriptionNews[]>
  setRenewal(subscription: string, renews: boolean, now: number): Promise<SubscriptionNews>
  /** Verifies the signature of a delivery at this time, in milliseconds. */
  verifyEvent(body: Buffer, signature: string, now: number): Promise<VerifiedEvent>
  /** What is wrong with the key or the prices; empty: nothing. */
  examine(): Promise<readonly string[]>
}
