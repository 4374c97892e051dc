import { findAccountByRow } from '../db/accounts.ts'
import {
  findOpenAutomaticPayment,
  findPayer,
  listAutomaticPayers,
  owesMoney,
  payerUpdate,
  paymentInsert,
  type StoredPayer,
  type StoredPayment,
  sumAutomaticPayments,
} from '../db/payments.ts'
import { isAlreadyThere } from '../db/sql-store.ts'
import { type AccountRow, mintPaymentId } from '../model/ids.ts'
import { inUsd } from '../model/money.ts'
import { type PaymentNews, type PaymentProvider, PaymentProviderFailed } from '../payments/provider.ts'
import { applyPaymentNews, asProvider, type PaymentServices } from './payment-news.ts'
import { monthStart } from './payments.ts'

/** After so many failures in a row the automatic top-up is switched off. */
const FAILURES_MAX = 3
const RETRY_MS = 3_600_000
/** The provider forgets an order after a day. An older one is looked up instead of being given again. */
export const ORDER_KNOWN_MS = 23 * 3_600_000
const PAGE = 200
/** A payment is looked for among so many of the provider. */
const LISTED_MAX = 5000
/** The clocks of the provider and of this server may differ by this much. */
const CLOCKS_DIFFER_MS = 600_000

interface TopUpRun {
  /** A payment whose outcome is not known yet: the next run asks again. */
  readonly onUnfinished: (payment: string, reason: unknown) => void
}

/**
 * Charges the saved cards of accounts whose balance is low. There is one open payment of an account at a time, with an id that
 * the provider takes once: nodes that run this at the same time, and a run after a crash, give the same order.
 */
export async function topUpWallets(services: PaymentServices, { onUnfinished }: TopUpRun): Promise<number> {
  const { payments, db, clock } = services
  if (payments === undefined || !payments.terms.automaticTopUp) return 0
  let charged = 0
  for (let after = 0; ; ) {
    const page = await listAutomaticPayers(db, { after, limit: PAGE }, clock.now())
    for (const payer of page) {
      const payment = (await findOpenAutomaticPayment(db, payer.account)) ?? (await beginTopUp(services, payer))
      if (payment === undefined) continue
      try {
        await chargeCard(services, payment)
        charged++
      } catch (error) {
        onUnfinished(payment.id, error)
        // Each further order would wait as long as this one.
        if (error instanceof PaymentProviderFailed && error.outcome === 'unreachable') return charged
      }
    }
    if (page.length < PAGE) return charged
    after = page.at(-1)!.account
  }
}

/** Notes a payment if the balance is low and the month leaves room, and nothing is owed; undefined otherwise. */
async function beginTopUp(services: PaymentServices, payer: StoredPayer): Promise<StoredPayment | undefined> {
  const { db, clock, ledger, random } = services
  const account = await findAccountByRow(db, payer.account)
  if (account?.status !== 'active' || payer.method === null || payer.customer === null) return undefined
  const { available } = await ledger.accountStatus(payer.account as AccountRow)
  if (available >= payer.below_nano) return undefined
  // What went back to the card would be taken from it again.
  if (await owesMoney(db, payer.account)) return undefined
  const now = clock.now()
  const spent = await sumAutomaticPayments(db, payer.account, monthStart(now))
  if (spent + payer.add_nano > payer.month_nano) return undefined
  const facts = { account: payer.account, kind: 'automatic', state: 'open', plan: null, saves_card: 0 } as const
  const payment = { ...facts, id: mintPaymentId(random), amount_nano: payer.add_nano, created_at: now }
  const detail = `${inUsd(payer.add_nano)} by the saved card`
  const entry = { action: 'payment_started', target: payment.id, account: payer.account, detail } as const
  try {
    // The payer changes with each payment, so that the sum of the month is still what it was.
    if (!(await asProvider(services).act(entry, [payerUpdate(payer), paymentInsert(payment)]))) return undefined
  } catch (error) {
    if (isAlreadyThere(error)) return undefined
    throw error
  }
  return findOpenAutomaticPayment(db, payer.account)
}

/** Its owner may have changed the terms since the payment was noted, so they are read again. */
async function chargeCard(services: PaymentServices, payment: StoredPayment): Promise<void> {
  const { payments, db, clock } = services
  const payer = await findPayer(db, payment.account)
  if (payments === undefined || payer === undefined || payer.customer === null || payer.method === null) return
  // The provider has it, and is not done with it, or it is too old to be given again: reconciliation finds out.
  if (payment.intent !== null || payment.created_at < clock.now() - ORDER_KNOWN_MS) return
  if (await exceedsTerms(services, payment, payer)) return endExceeding(services, payments.provider, payment)
  const account = await findAccountByRow(db, payment.account)
  if (account === undefined) return
  const order = { payment: payment.id, account: account.id, amount: payment.amount_nano }
  const news = await payments.provider.charge({ ...order, customer: payer.customer, method: payer.method })
  const after = await applyPaymentNews(services, { ...news, payment: payment.id })
  if (after?.state === 'failed') await noteFailure(services, payment.account, news)
  else if (after?.state === 'paid') await noteSuccess(services, payment.account)
}

async function exceedsTerms(
  { db, clock }: PaymentServices,
  { amount_nano: amount, created_at }: StoredPayment,
  { account, automatic, add_nano, month_nano }: StoredPayer,
): Promise<boolean> {
  if (automatic === 0 || amount > add_nano) return true
  const since = monthStart(clock.now())
  const spent = await sumAutomaticPayments(db, account, since)
  return spent + (created_at < since ? amount : 0n) > month_nano
}

/** A payment beyond the terms is not ordered again. If the provider has taken its order, it is as the provider says. */
async function endExceeding(services: PaymentServices, provider: PaymentProvider, payment: StoredPayment) {
  const listed = await provider.listPayments(payment.created_at - CLOCKS_DIFFER_MS, LISTED_MAX)
  const taken = listed.find((news) => news.payment === payment.id)
  // Where not all were listed, reconciliation finds out.
  if (taken === undefined && listed.length === LISTED_MAX) return
  const failure = 'The terms of the automatic top-up were changed before the card was charged.'
  const after = await applyPaymentNews(services, taken ?? { payment: payment.id, state: 'failed', failure })
  if (after?.state === 'paid') await noteSuccess(services, payment.account)
}

const ATTEMPTS_MAX = 20

/** Shown on the wallet's page. The next try waits longer with each failure, and the last one ends it. */
export async function noteFailure(
  services: PaymentServices,
  account: number,
  { failure }: Pick<PaymentNews, 'failure'>,
) {
  const { clock } = services
  await changePayer(services, account, (payer) => {
    const failures = payer.failures + 1
    const next = { failures, failure: failure ?? 'The card was declined.', failed_at: clock.now() }
    const automatic = failures >= FAILURES_MAX ? 0 : payer.automatic
    return { ...payer, ...next, automatic, next_at: clock.now() + RETRY_MS * 2 ** (failures - 1) }
  })
}

const noteSuccess = (services: PaymentServices, account: number) =>
  changePayer(services, account, (payer) => ({ ...payer, failures: 0, failure: null, failed_at: null, next_at: 0 }))

async function changePayer(services: PaymentServices, account: number, change: (payer: StoredPayer) => StoredPayer) {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const payer = await findPayer(services.db, account)
    if (payer === undefined) return
    const next = change(payer)
    if (next.failures === 0 && payer.failures === 0) return
    const detail =
      next.failures === 0 ? 'charged again' : `${next.automatic === 1 ? 'failed' : 'switched off'}: ${next.failure}`
    if (await asProvider(services).act({ action: 'automatic_top_up', account, detail }, [payerUpdate(next)])) return
  }
}
