import type { z } from 'zod'
import { duration, flag, list, read, scalar, section, text, usd, wrong } from './scalars.ts'

/** Stripe's own names for keys: secret and restricted ones, for tests and for money. */
const SECRET_KEY = /^(sk|rk)_(test|live)_[A-Za-z0-9]{8,}$/
const WEBHOOK_SECRET = /^whsec_[A-Za-z0-9+/=]{8,}$/
const PRICE_ID = /^price_[A-Za-z0-9_]{3,}$/

/** Whole cents, because Stripe takes no smaller part of a dollar. */
const NANO_PER_CENT = 10_000_000n

const wholeCents = (description: string) =>
  usd(description, '999999').refine(
    (amount) => amount > 0n && amount % NANO_PER_CENT === 0n,
    'must be whole cents above zero',
  )

const planSoldSchema = section('A plan that account owners can buy.', {
  plan: text('The id of the plan in this file.'),
  price: text('The recurring price of it at Stripe.', {
    pattern: PRICE_ID,
    expected: 'the id of a price, such as price_1Abc',
  }),
})

export const paymentsSchema = section('How account owners pay by card.', {
  stripe: section('Stripe takes the cards. Needs the package stripe. Without this section, nothing is sold by card.', {
    secret_key: text('Secret or restricted key of the Stripe account. Best from a variable or a file.', {
      pattern: SECRET_KEY,
      expected: 'a key of Stripe that begins with sk_ or rk_',
    }),
    webhook_secret: text('Signing secret of the webhook endpoint /stripe/webhook. Best from a variable or a file.', {
      pattern: WEBHOOK_SECRET,
      expected: 'the signing secret of an endpoint, which begins with whsec_',
    }),
    api_base: scalar<string>(
      'Address of Stripe’s API. Anything else is a stand-in for tests.',
      { type: 'string', examples: ['https://api.stripe.com'] },
      (value) =>
        typeof value === 'string' && isApiBase(value)
          ? read(new URL(value).origin)
          : wrong(
              'an address such as https://api.stripe.com',
              'Scheme, host and port only; http only on this machine.',
            ),
    ).prefault('https://api.stripe.com'),
    top_up_min: wholeCents('The least that is paid at once').prefault('5.00'),
    top_up_max: wholeCents('The most that is paid at once').prefault('1000.00'),
    automatic_top_up: flag('Let owners have a saved card charged when their balance is low.').prefault(true),
    renewal_grace: duration(
      'How long a plan that renews goes on after a paid period, because Stripe charges up to an hour later.',
      ['0s', '7d'],
    ).prefault('3h'),
    plans: list('The plans that owners can buy.', planSoldSchema),
  })
    .refine(({ top_up_min: min, top_up_max: max }) => min <= max, {
      path: ['top_up_max'],
      message: 'must be at least top_up_min',
      params: { whole: true, cure: 'Raise it, or lower top_up_min.' },
    })
    .optional(),
})

export type ParsedPayments = z.output<typeof paymentsSchema>

function isApiBase(written: string): boolean {
  if (!URL.canParse(written)) return false
  const url = new URL(written)
  if (url.pathname !== '/' || url.search || url.hash || url.username || url.password) return false
  return (
    url.protocol === 'https:' || (url.protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname))
  )
}
