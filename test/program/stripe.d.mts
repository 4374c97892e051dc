export interface StripeEvent {
  readonly id: string
  readonly type: string
  readonly created: number
  readonly data: { readonly object: Record<string, unknown> }
}

export interface StripeFault {
  /** Part of `POST /v1/payment_intents`. */
  readonly path: string
  times: number
  readonly how: 'fail' | 'silent-before' | 'silent-after'
}

export interface StripeStandIn {
  readonly origin: string
  readonly events: StripeEvent[]
  readonly faults: StripeFault[]
  readonly calls: string[]
  readonly intents: ReadonlyMap<
    string,
    { readonly amount: number; readonly metadata: Readonly<Record<string, string>> }
  >
  readonly sessions: ReadonlyMap<
    string,
    {
      readonly id: string
      readonly status: string
      readonly customer: string | null
      readonly payment_intent: string | null
      readonly subscription?: string
    }
  >
  readonly lostCustomers: Set<string>
  intentOf(subscription: string): string
  readonly subscriptions: ReadonlyMap<string, { readonly id: string }>
  /** The section `payments` with further lines of `stripe`. */
  config(more?: string): string
  addPrice(id: string, cents?: number): void
  pay(session: string): void
  expire(session: string): void
  refund(intent: string, cents: number): void
  dispute(intent: string, cents: number, status?: string): string
  escalate(dispute: string): void
  closeDispute(id: string, status: 'won' | 'lost'): void
  renew(subscription: string): void
  setStatus(subscription: string, status: string): void
  close(): Promise<void>
}

export const SECRET_KEY: string
export const WEBHOOK_SECRET: string
export const DECLINED: string
export const VISA: string

export function startStripe(options?: { readonly now?: () => number; readonly port?: number }): Promise<StripeStandIn>

export function deliver(
  url: string,
  event: object,
  options?: { readonly secret?: string; readonly timestamp?: number; readonly body?: string },
): Promise<number>
