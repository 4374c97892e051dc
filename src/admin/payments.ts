import type { z } from 'zod'
import type {
  automaticTopUpBody,
  buyPlanBody,
  cardStatus as cardStatusSchema,
  paymentItem,
  plansSold,
  renewalBody,
  startedPayment,
  topUpBody,
} from '../contract/payments.ts'
import type { PageQuery } from '../contract/values.ts'
import { findAccountByRow } from '../db/accounts.ts'
import {
  findPayer,
  findPayment,
  findPaymentByRow,
  findPurchase,
  listAllPayments,
  listOpenPaymentsOf,
  listOpenPlanPayments,
  listPaymentsOf,
  listPurchasesOf,
  payerUpdate,
  paymentInsert,
  paymentUpdate,
  type StoredPayer,
  type StoredPayment,
  type StoredPurchase,
  sumAutomaticPayments,
} from '../db/payments.ts'
import { type AccountRow, mintPaymentId } from '../model/ids.ts'
import { formatUsd, inUsd, parseUsd } from '../model/money.ts'
import { type PaymentProvider, PaymentProviderFailed, type StartedCheckout } from '../payments/provider.ts'
import { accountClosed } from './accounts.ts'
import { done, type OperationRefused, type Outcome, refuseOperation } from './outcome.ts'
import { applyPaymentNews, applySubscriptionNews } from './payment-news.ts'
import type { AdminServices } from './services.ts'
import { isoTime, isoTimeOrNull, NEWEST, quoted, readPage } from './values.ts'

/** Funds by card: what account owners do, and what they and operators see of it. */

type PaymentView = z.output<typeof paymentItem>

const paymentView = (payment: StoredPayment): PaymentView => ({
  id: payment.id,
  kind: payment.kind,
  state: payment.state,
  amount: formatUsd(payment.received_nano ?? payment.amount_nano),
  refunded: formatUsd(payment.refunded_nano),
  disputed: formatUsd(payment.disputed_nano),
  dispute: payment.dispute,
  owed: formatUsd(payment.owed_nano),
  plan: payment.plan,
  receipt_url: payment.receipt_url,
  failure: payment.failure,
  created_at: isoTime(payment.created_at),
  paid_at: isoTimeOrNull(payment.paid_at),
})

const OFF = refuseOperation('payments_off', 'This server takes no cards. Ask its operator for funds.')

/** Unfinished payments of an account within an hour: each one is a page at the provider. */
const OPEN_MAX = 20
const HOUR_MS = 3_600_000
const NANO_PER_CENT = 10_000_000n

/** Whole cents within these bounds. */
function readCents(text: string, param: string, { min, max }: { readonly min: bigint; readonly max: bigint }) {
  const amount = parseUsd(text)
  if (amount !== undefined && amount >= min && amount <= max && amount % NANO_PER_CENT === 0n) {
    return { kind: 'read', amount: amount as bigint } as const
  }
  const message = `${JSON.stringify(text)} is not an amount: write USD from ${formatUsd(min)} to ${formatUsd(max)} in whole cents, e.g. 20.00`
  return refuseOperation('invalid_amount', message, { param })
}

/** Where the provider sends the browser back to. */
export interface CheckoutPages {
  readonly origin: string
}

/** Starts a payment of an owner: the answer is the address of the provider's page. */
export async function startTopUp(
  services: AdminServices,
  account: AccountRow,
  { amount: text, save_card: savesCard }: z.output<typeof topUpBody>,
  { origin }: CheckoutPages,
): Promise<Outcome<z.output<typeof startedPayment>>> {
  const { payments } = services
  if (payments === undefined) return OFF
  const read = readCents(text, 'amount', { min: payments.terms.topUpMin, max: payments.terms.topUpMax })
  if (read.kind === 'refused') return read
  const { amount } = read
  const order = { account, kind: 'top_up', amount_nano: amount, plan: null, saves_card: savesCard ? 1 : 0 } as const
  return startCheckout(services, order, (checkout) =>
    payments.provider.startTopUp({ ...checkout, ...pagesOf(origin, 'wallet', checkout.payment), amount, savesCard }),
  )
}

const pagesOf = (origin: string, page: 'wallet' | 'plan', payment: string) => ({
  returnUrl: `${origin}/console/${page}?payment=${payment}`,
  cancelUrl: `${origin}/console/${page}?payment=${payment}&left=1`,
})

type NewOrder = Pick<StoredPayment, 'account' | 'kind' | 'amount_nano' | 'plan' | 'saves_card'>

interface Checkout {
  readonly payment: string
  readonly account: string
  readonly email: string
  readonly customer: string | undefined
}

/** Notes the payment with its audit entry, and then asks the provider for its page. */
async function startCheckout(
  services: AdminServices,
  order: NewOrder,
  start: (checkout: Checkout) => Promise<StartedCheckout>,
): Promise<Outcome<z.output<typeof startedPayment>>> {
  const { db, clock, random, auditLog } = services
  const account = await findAccountByRow(db, order.account)
  if (account === undefined) throw new Error(`There is no account ${order.account}`)
  if (account.status === 'closed') return accountClosed(account)
  const open = await listOpenPaymentsOf(db, order.account, clock.now() - HOUR_MS, OPEN_MAX)
  if (open.length >= OPEN_MAX) {
    const message = 'Too many payments were begun within an hour and not completed. Complete one of them, or wait.'
    return refuseOperation('too_many_payments', message, { retryAfterSeconds: HOUR_MS / 1000 })
  }
  const payment = { ...order, id: mintPaymentId(random), state: 'open', created_at: clock.now() } as const
  const entry = {
    action: 'payment_started',
    target: payment.id,
    account: order.account,
    detail: describe(order),
  } as const
  await auditLog.act(entry, [paymentInsert(payment)])
  const payer = await findPayer(db, order.account)
  const checkout = { payment: payment.id, account: account.id, email: account.email }
  const begin = async () => {
    try {
      return await start({ ...checkout, customer: payer?.customer ?? undefined })
    } catch (error) {
      if (!(error instanceof PaymentProviderFailed) || error.outcome !== 'no-customer') throw error
      await removeCard(services, account.row as AccountRow, { isForgotten: true })
      return start({ ...checkout, customer: undefined })
    }
  }
  try {
    const { session, url } = await begin()
    await changePayment(services, payment.id, { session })
    return done({ payment: payment.id, url })
  } catch (error) {
    if (!(error instanceof PaymentProviderFailed)) throw error
    // Also if the provider has made the page after all: no browser has its address.
    await changePayment(services, payment.id, { state: 'failed', failure: error.message })
    return providerFailed(error)
  }
}

const describe = ({ kind, amount_nano, plan }: NewOrder): string =>
  kind === 'plan' ? `the plan ${plan}` : inUsd(amount_nano)

const providerFailed = ({ message, outcome }: PaymentProviderFailed): OperationRefused =>
  refuseOperation(
    'payment_failed',
    outcome === 'unknown' || outcome === 'unreachable'
      ? 'The payment provider did not answer. Nothing was charged. Try again.'
      : message,
  )

/** Unless it was paid meanwhile. */
async function changePayment(
  { db, files }: Pick<AdminServices, 'db' | 'files'>,
  id: string,
  change: Partial<Pick<StoredPayment, 'session' | 'state' | 'failure'>>,
): Promise<void> {
  const payment = await findPayment(db, id)
  if (payment === undefined || payment.state === 'paid') return
  const { sql, rows } = paymentUpdate({ ...payment, ...change })
  await files.ledger.atomic([{ sql, rows }])
}

/** An open payment is asked about at most this often. */
const ASKED_MS = 2000

/** A payment as its owner sees it. While it is open, the provider is asked: a webhook may be late. */
export async function showPayment(
  services: AdminServices,
  account: AccountRow,
  id: string,
): Promise<Outcome<PaymentView>> {
  const payment = await findPayment(services.db, id)
  if (payment === undefined || payment.account !== account) return noSuchPayment(id)
  await askAbout(services, payment)
  return done(paymentView((await findPaymentByRow(services.db, payment.row)) ?? payment))
}

const noSuchPayment = (id: string): OperationRefused =>
  refuseOperation('payment_not_found', `There is no payment ${quoted(id)}.`)

async function askAbout(services: AdminServices, { id, session, state, kind }: StoredPayment): Promise<void> {
  const { payments, clock } = services
  // A plan is paid by its invoice, which the webhook brings.
  if (payments === undefined || session === null || state !== 'open' || kind === 'plan') return
  const now = clock.now()
  if (now - (payments.askedAt.get(id) ?? 0) < ASKED_MS) return
  payments.askedAt.set(id, now)
  try {
    const news = await payments.provider.readCheckout(session)
    if (news.payment === id) await applyPaymentNews(services, news)
  } catch (error) {
    if (!(error instanceof PaymentProviderFailed)) throw error
  }
}

export const listOwnPayments = ({ db }: AdminServices, account: AccountRow, page: PageQuery) =>
  readPage(page, {
    first: NEWEST,
    read: (before, limit) => listPaymentsOf(db, account, { before, limit }),
    numberOf: ({ row }) => row,
    view: paymentView,
  })

/** Of all accounts, or of one. `owed`: only those of which money is missing. */
export const listPayments = (
  { db }: Pick<AdminServices, 'db'>,
  { owed, ...page }: PageQuery & { readonly owed?: boolean | undefined },
) =>
  readPage(page, {
    first: NEWEST,
    read: (before, limit) => listAllPayments(db, { before, limit, isOwed: owed ?? false }),
    numberOf: ({ row }) => row,
    view: ({ account_id: account, email, ...payment }) => ({ ...paymentView(payment), account, email }),
  })

/** Whether and how an account can pay by card. */
export async function cardStatus(services: AdminServices, account: AccountRow) {
  const { payments, db, clock } = services
  const payer = await findPayer(db, account)
  const spent = await sumAutomaticPayments(db, account, monthStart(clock.now()))
  return done({
    enabled: payments !== undefined,
    min: formatUsd(payments?.terms.topUpMin ?? 0n),
    max: formatUsd(payments?.terms.topUpMax ?? 0n),
    card: payer?.method == null ? null : (payer.card ?? 'card'),
    automatic: {
      allowed: payments?.terms.automaticTopUp ?? false,
      on: payer?.automatic === 1,
      below: formatUsd(payer?.below_nano ?? 0n),
      add: formatUsd(payer?.add_nano ?? 0n),
      month_max: formatUsd(payer?.month_nano ?? 0n),
      month_used: formatUsd(spent),
      failure: payer?.failure ?? null,
      failed_at: isoTimeOrNull(payer?.failed_at ?? null),
    },
  })
}

export const monthStart = (now: number): number => {
  const date = new Date(now)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
}

/** Has a saved card charged when the balance falls below an amount, up to so much in a month. */
export async function changeAutomaticTopUp(
  services: AdminServices,
  account: AccountRow,
  body: z.output<typeof automaticTopUpBody>,
): Promise<Outcome<z.output<typeof cardStatusSchema>>> {
  const { payments, auditLog, db } = services
  if (payments === undefined || !payments.terms.automaticTopUp) return OFF
  const { topUpMin: min, topUpMax: max } = payments.terms
  const add = readCents(body.add, 'add', { min, max })
  if (add.kind === 'refused') return add
  const below = readCents(body.below, 'below', { min: NANO_PER_CENT, max })
  if (below.kind === 'refused') return below
  const month = readCents(body.month_max, 'month_max', { min: add.amount, max: max * 1000n })
  if (month.kind === 'refused') return month
  const payer = await findPayer(db, account)
  if (payer?.method == null) {
    const message = 'There is no saved card. Add funds once and choose to save the card.'
    return refuseOperation('no_saved_card', message)
  }
  const next: StoredPayer = {
    ...{
      ...payer,
      automatic: body.on ? 1 : 0,
      below_nano: below.amount,
      add_nano: add.amount,
      month_nano: month.amount,
    },
    ...{ failures: 0, failure: null, failed_at: null, next_at: 0 },
  }
  const detail = body.on
    ? `below ${inUsd(below.amount)} add ${inUsd(add.amount)}, at most ${inUsd(month.amount)} a month`
    : 'off'
  const changed = await auditLog.act({ action: 'automatic_top_up', account, detail }, [payerUpdate(next)])
  // A charge has changed it meanwhile.
  return changed ? cardStatus(services, account) : changeAutomaticTopUp(services, account, body)
}

/** Forgets the card. Automatic top-ups end with it. `isForgotten`: the provider does not know the customer any more. */
export async function removeCard(
  services: AdminServices,
  account: AccountRow,
  { isForgotten = false }: { readonly isForgotten?: boolean } = {},
): Promise<Outcome<z.output<typeof cardStatusSchema>>> {
  const payer = await findPayer(services.db, account)
  if (payer !== undefined && (payer.method !== null || (isForgotten && payer.customer !== null))) {
    const customer = isForgotten ? null : payer.customer
    const off = { automatic: 0, failures: 0, failure: null, failed_at: null }
    const entry = { action: 'card_removed', account, detail: payer.card ?? 'customer' } as const
    const isDone = await services.auditLog.act(entry, [
      payerUpdate({ ...payer, ...off, customer, method: null, card: null }),
    ])
    if (!isDone) return removeCard(services, account, { isForgotten })
  }
  return cardStatus(services, account)
}

// Plans that are bought by card: assigned for each period that is paid, and not longer.

const BOUGHT_SHOWN = 10
/** Statuses in which the provider goes on charging. */
const RUNNING = new Set(['active', 'trialing', 'past_due', 'unpaid', 'incomplete', 'paused'])

const isRunning = ({ status }: StoredPurchase): boolean => status === null || RUNNING.has(status)

export async function listPlansSold(
  { payments, catalog, db }: AdminServices,
  account: AccountRow,
): Promise<Outcome<z.output<typeof plansSold>>> {
  const { plans } = catalog()
  const bought = await listPurchasesOf(db, account, BOUGHT_SHOWN)
  const sold = [...(payments?.terms.plans.keys() ?? [])].flatMap((id) => plans.get(id) ?? [])
  return done({
    items: sold.map(({ id, windows }) => ({
      plan: id,
      windows: windows.map(({ name, amount }) => ({ name, allowance: formatUsd(amount) })),
    })),
    bought: bought.map((purchase) => ({
      id: purchase.subscription,
      plan: purchase.plan,
      status: purchase.status,
      renews: isRunning(purchase) && purchase.cancels === 0,
      paid_until: isoTimeOrNull(purchase.paid_until || null),
    })),
  })
}

/** Starts the purchase of a plan. It is assigned when its first invoice is paid. */
export async function buyPlan(
  services: AdminServices,
  account: AccountRow,
  { plan }: z.output<typeof buyPlanBody>,
  { origin }: { readonly origin: string },
) {
  const { payments, db } = services
  const price = payments?.terms.plans.get(plan)
  if (payments === undefined || price === undefined) return notSold(plan)
  const bought = (await listPurchasesOf(db, account, BOUGHT_SHOWN)).find(isRunning)
  if (bought !== undefined) {
    const message = `The plan ${quoted(bought.plan)} is already paid by card. End its renewal first; another plan can be bought when it has ended.`
    return refuseOperation('plan_bought', message)
  }
  for (const { session } of await listOpenPlanPayments(db, account)) {
    const left = session === null ? 'unpaid' : await leaveCheckout(payments.provider, session)
    if (left !== 'unpaid') return left
  }
  const order = { account, kind: 'plan', amount_nano: 0n, plan, saves_card: 0 } as const
  return startCheckout(services, order, (checkout) =>
    payments.provider.startPlan({ ...checkout, ...pagesOf(origin, 'plan', checkout.payment), plan, price }),
  )
}

/** Closes the page of a purchase that was begun before: two pages would let an owner pay twice. */
async function leaveCheckout(provider: PaymentProvider, session: string): Promise<'unpaid' | OperationRefused> {
  try {
    if (await provider.expireCheckout(session)) return 'unpaid'
    return refuseOperation('plan_bought', 'A plan was just paid by card. It is assigned when the payment is confirmed.')
  } catch (error) {
    if (!(error instanceof PaymentProviderFailed)) throw error
    // The provider does not know it, e.g. one of its test mode.
    return error.outcome === 'refused' ? 'unpaid' : providerFailed(error)
  }
}

const notSold = (plan: string): OperationRefused =>
  refuseOperation('plan_not_found', `The plan ${quoted(plan)} is not sold here.`, { param: 'plan' })

/** Ends the renewal at the end of the paid period, or takes that back. */
export async function changeRenewal(
  services: AdminServices,
  account: AccountRow,
  { purchase: id, renews }: z.output<typeof renewalBody> & { readonly purchase: string },
) {
  const { payments, db, auditLog, clock } = services
  const purchase = await findPurchase(db, id)
  if (payments === undefined || purchase === undefined || purchase.account !== account || !isRunning(purchase)) {
    return refuseOperation('payment_not_found', `There is no running purchase ${quoted(id)}.`)
  }
  const detail = `${purchase.plan} ${renews ? 'renews' : 'ends with its paid period'}`
  await auditLog.announce({ action: 'plan_renewal', target: id, account, detail })
  try {
    await applySubscriptionNews(services, await payments.provider.setRenewal(id, renews, clock.now()))
  } catch (error) {
    if (error instanceof PaymentProviderFailed) return providerFailed(error)
    throw error
  }
  return listPlansSold(services, account)
}
