import type { z } from 'zod'
import type { reconciliation } from '../contract/payments.ts'
import {
  findPayment,
  findPaymentByRow,
  listOpenPayments,
  listOwedPayments,
  listPaymentSteps,
  listPurchases,
  listUnsettledPayments,
  paymentUpdate,
  type StoredPayment,
  stepDone,
} from '../db/payments.ts'
import { findTransferByRef } from '../db/statement.ts'
import { formatUsd } from '../model/money.ts'
import type { PaymentNews, PaymentProviderFailed } from '../payments/provider.ts'
import { noteFailure, ORDER_KNOWN_MS } from './automatic-top-ups.ts'
import { done } from './outcome.ts'
import {
  applyPaymentNews,
  applySubscriptionNews,
  assignPurchase,
  type PaymentServices,
  refOf,
  settlePayment,
} from './payment-news.ts'

const DAY_MS = 86_400_000
const DAYS = 3
/** Of one run: what is older than the newest ones was compared by an earlier run. */
const LISTED_MAX = 5000
const PAGE = 200
/** A page of the provider is open for a day. */
const CHECKOUT_OPEN_MS = 25 * 3_600_000
const FAILURES_SHOWN = 20

type Report = z.output<typeof reconciliation>
type Found = Pick<Report, 'differences' | 'failures'> & { checked: number; foreign: number }

/** Compares the payments of the last days with the provider, credits what was missed, and finishes what was begun. */
export async function reconcilePayments(
  services: PaymentServices,
  { days = DAYS }: { readonly days?: number | undefined },
) {
  const { payments, clock } = services
  const found: Found = { checked: 0, foreign: 0, differences: [], failures: [] }
  if (payments === undefined) {
    const failures = ['The configuration has no payments.stripe, so there is nothing to compare.']
    return done({ ...found, failures, owed: formatUsd(await sumOwed(services)) })
  }
  const since = clock.now() - days * DAY_MS
  const { provider } = payments
  await attempt(found, 'payments', async () => {
    for (const news of await provider.listPayments(since, LISTED_MAX)) await compare(services, news, found)
  })
  await attempt(found, 'disputes', async () => {
    for (const news of await provider.listDisputes(since, LISTED_MAX)) await compare(services, news, found)
  })
  await finishOpen(services, found)
  await eachPage(
    (after) => listPurchases(services.db, { after, limit: PAGE }),
    ({ row, subscription, status }) =>
      attempt(found, subscription, async () => {
        const all = status === 'canceled' ? [] : await provider.readSubscription(subscription, clock.now())
        for (const news of all) await applySubscriptionNews(services, news)
        if (!(await assignPurchase(services, row))) found.failures.push(`${subscription}: the plan is not configured`)
      }),
  )
  await settleAll(services, found)
  const owed = await sumOwed(services)
  const { failures, ...rest } = found
  return done({ ...rest, failures: failures.slice(0, FAILURES_SHOWN), owed: formatUsd(owed) })
}

/** One failure does not end the run. */
async function attempt(found: Found, what: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    found.failures.push(`${what}: ${(error as Error).message}`)
  }
}

async function eachPage<Row extends { readonly row: number }>(
  read: (after: number) => Promise<readonly Row[]>,
  each: (row: Row) => Promise<unknown>,
): Promise<void> {
  for (let after = 0; ; ) {
    const page = await read(after)
    for (const row of page) await each(row)
    if (page.length < PAGE) return
    after = page.at(-1)!.row
  }
}

async function compare(services: PaymentServices, news: PaymentNews, found: Found): Promise<void> {
  found.checked++
  const before = news.payment === undefined ? undefined : await findPayment(services.db, news.payment)
  if (news.payment !== undefined && before === undefined) {
    found.foreign++
    return
  }
  await attempt(found, news.payment ?? news.intent ?? 'payment', async () => {
    const after = await applyPaymentNews(services, news)
    if (after === undefined) found.foreign++
    else if (before !== undefined) noteDifference(found, before, after)
  })
}

function noteDifference(found: Found, before: StoredPayment, after: StoredPayment): void {
  const [was, is] = [describe(before), describe(after)]
  if (was !== is) found.differences.push({ payment: after.id, before: was, after: is })
}

const describe = ({ state, refunded_nano, dispute }: StoredPayment): string =>
  [state, refunded_nano > 0n ? `refunded ${formatUsd(refunded_nano)}` : undefined, dispute && `dispute ${dispute}`]
    .filter(Boolean)
    .join(', ')

/** Open payments, of which a webhook was missed, or which were not completed. */
async function finishOpen(services: PaymentServices, found: Found): Promise<void> {
  const { payments, clock, db, files } = services
  if (payments === undefined) return
  const now = clock.now()
  await eachPage(
    (after) => listOpenPayments(db, { after, limit: PAGE }),
    (payment) =>
      attempt(found, payment.id, async () => {
        const age = now - payment.created_at
        if (payment.session !== null && payment.kind === 'top_up') {
          const said = await payments.provider.readCheckout(payment.session).catch((error: unknown) => {
            // No browser has its page any more.
            if (age < CHECKOUT_OPEN_MS || (error as Partial<PaymentProviderFailed>).outcome !== 'refused') throw error
          })
          if (said !== undefined) await compare(services, said, found)
        } else if (payment.kind === 'automatic' && age > ORDER_KNOWN_MS) {
          const said = payment.intent === null ? undefined : await payments.provider.readIntent(payment.intent)
          if (said?.state === 'paid') return compare(services, said, found)
          // It was listed above if the provider had it, and was not paid.
          const news = { payment: payment.id, state: 'failed', failure: 'The payment was not completed.' } as const
          await applyPaymentNews(services, news)
          await noteFailure(services, payment.account, news)
          return
        }
        const left = await findPaymentByRow(db, payment.row)
        if (left?.state !== 'open' || payment.kind === 'automatic' || age < CHECKOUT_OPEN_MS) return
        const { sql, rows } = paymentUpdate({ ...left, state: 'expired' })
        await files.ledger.atomic([{ sql, rows }])
      }),
  )
}

/** What a crash has left half done, and what wallets owe and may have by now. */
async function settleAll(services: PaymentServices, found: Found): Promise<void> {
  const { db } = services
  await eachPage(
    (after) => listUnsettledPayments(db, { after, limit: PAGE }),
    ({ id, row }) => attempt(found, id, () => settlePayment(services, row)),
  )
  await eachPage(
    (after) => listOwedPayments(db, { after, limit: PAGE }),
    (payment) =>
      attempt(found, payment.id, async () => {
        await correctSteps(services, payment)
        const { sql, rows } = paymentUpdate({ ...payment, settled: 0 })
        await services.files.ledger.atomic([{ sql, rows }])
        await settlePayment(services, payment.row)
      }),
  )
}

/** A step that one node has given up can have been made by another one at the same time. The ledger knows. */
async function correctSteps({ db, files, clock }: PaymentServices, payment: StoredPayment): Promise<void> {
  for (const step of await listPaymentSteps(db, payment.row)) {
    if (step.delta_nano !== 0n || step.done_at === null) continue
    const made = await findTransferByRef(db, payment.account, 'refund', refOf(payment, step.step))
    if (made !== undefined)
      await files.ledger.atomic([stepDone({ ...step, delta_nano: made.amount_nano }, clock.now())])
  }
}

async function sumOwed({ db }: PaymentServices): Promise<bigint> {
  let owed = 0n
  await eachPage(
    (after) => listOwedPayments(db, { after, limit: PAGE }),
    async ({ owed_nano }) => {
      owed += owed_nano
    },
  )
  return owed
}
