import { describe, expect, it } from 'vitest'
import type { StoredPayment, StoredPurchase } from '../db/payments.ts'
import type { PaymentNews, SubscriptionNews } from '../payments/provider.ts'
import { mergeNews, mergePurchase } from './payment-news.ts'

const NOW = 1_700_000_000_000

const BEGUN: StoredPayment = {
  ...{
    row: 1,
    id: 'pay_1',
    account: 1,
    kind: 'top_up',
    state: 'open',
    amount_nano: 20_000_000_000n,
    received_nano: null,
  },
  ...{ refunded_nano: 0n, disputed_nano: 0n, dispute: null, dispute_at: 0, owed_nano: 0n, plan: null, session: null },
  ...{ intent: null, invoice: null, receipt_url: null, failure: null, created_at: NOW, paid_at: null, saves_card: 0 },
  ...{ settled: 1, version: 1, purchase: null, period_end: null },
}

const news = (more: Omit<PaymentNews, 'payment'>): PaymentNews => ({ payment: 'pay_1', ...more })
const received = 20_000_000_000n

const STORY: readonly PaymentNews[] = [
  news({ state: 'failed', failure: 'declined' }),
  news({ state: 'paid', received, intent: 'pi_1' }),
  news({ state: 'paid', received, refunded: 5_000_000_000n, receiptUrl: 'https://receipt' }),
  news({ state: 'paid', received, refunded: 8_000_000_000n }),
  news({ dispute: { state: 'open', amount: 12_000_000_000n, at: NOW + 10 } }),
  news({ dispute: { state: 'won', amount: 12_000_000_000n, at: NOW + 20 } }),
]

/** All orders of a list. */
function* ordersOf<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  if (items.length <= 1) yield items
  for (const [at, item] of items.entries()) {
    for (const rest of ordersOf([...items.slice(0, at), ...items.slice(at + 1)])) yield [item, ...rest]
  }
}

describe('news of a payment', () => {
  it('lead to the same payment in each of 720 orders, and twice', () => {
    const ends = new Set<string>()
    for (const order of ordersOf(STORY)) {
      const end = [...order, order[0]!].reduce((payment, each) => mergeNews(payment, each, NOW), BEGUN)
      ends.add(JSON.stringify(end, (_, value) => (typeof value === 'bigint' ? `${value}n` : value)))
    }
    expect([...ends]).toHaveLength(1)
    expect(JSON.parse([...ends][0]!)).toMatchObject({
      ...{ state: 'paid', received_nano: '20000000000n', refunded_nano: '8000000000n' },
      ...{ dispute: 'won', disputed_nano: '0n', failure: null, settled: 0 },
    })
  })

  it('in another currency do not pay it', () => {
    expect(mergeNews(BEGUN, news({ state: 'paid', received: undefined }), NOW)).toMatchObject({
      state: 'open',
      settled: 1,
    })
  })
})

const BOUGHT: StoredPurchase = {
  ...{ row: 1, subscription: 'sub_1', account: 1, plan: 'pro', status: null, cancels: 0, status_at: 0 },
  ...{ paid_until: 0, assigned_until: 0, created_at: NOW, version: 1 },
}

describe('news of a purchase', () => {
  it('lead to the same purchase in any order', () => {
    const about = { subscription: 'sub_1', account: 'acct_1', plan: 'pro' }
    const paid = (periodEnd: number) => ({
      invoice: `in_${periodEnd}`,
      payment: undefined,
      amount: 1n,
      periodEnd,
      receiptUrl: undefined,
    })
    const story: readonly SubscriptionNews[] = [
      { ...about, at: 1, status: 'active', cancelsAtEnd: false },
      { ...about, at: 1, paid: paid(100) },
      { ...about, at: 5, status: 'past_due', cancelsAtEnd: false },
      { ...about, at: 6, paid: paid(200) },
      { ...about, at: 7, status: 'active', cancelsAtEnd: true },
      { ...about, at: 9, status: 'canceled', cancelsAtEnd: true },
    ]
    for (const order of ordersOf(story)) {
      const end = order.reduce(mergePurchase, BOUGHT)
      expect(end).toMatchObject({ status: 'canceled', cancels: 1 })
    }
  })
})
