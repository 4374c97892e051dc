import { findAccountById } from '../db/accounts.ts'
import {
  eventInsert,
  eventsDelete,
  findPaidUntil,
  findPayer,
  findPayment,
  findPaymentByIntent,
  findPaymentByInvoice,
  findPaymentByRow,
  findPaymentEvent,
  findPurchase,
  findPurchaseByRow,
  invoiceInsert,
  isSamePayment,
  isSamePurchase,
  listPaymentSteps,
  listPurchasesOf,
  type PaymentStep,
  payerInsert,
  payerUpdate,
  paymentUpdate,
  purchaseInsert,
  purchaseUpdate,
  type StoredPayer,
  type StoredPayment,
  type StoredPurchase,
  stepDone,
  stepInsert,
  stepVoid,
} from '../db/payments.ts'
import { type AtomicStatement, isAlreadyThere } from '../db/sql-store.ts'
import { type AccountRow, mintPaymentId } from '../model/ids.ts'
import { inUsd, type NanoUsd } from '../model/money.ts'
import type { DisputeNews, PaidInvoice, PaymentNews, PaymentState, SubscriptionNews } from '../payments/provider.ts'
import { type ActorLog, actorLogOf } from './audit.ts'
import type { AdminServices } from './services.ts'
import { isoTime } from './values.ts'

/**
 * What the provider says about payments, brought to the wallet and to plans. News arrive repeatedly and in any order, so a payment only goes
 * forward, and the movements on the wallet follow from what it has come to. Each movement is noted as a step before the ledger
 * makes it under the reference of that step, which the ledger counts once.
 */
export type PaymentServices = Pick<
  AdminServices,
  'db' | 'clock' | 'ledger' | 'files' | 'people' | 'payments' | 'catalog' | 'forgetAccount' | 'random'
>

/** The actor of what the provider has said. */
const PROVIDER = 'stripe'
export const asProvider = ({ people }: Pick<AdminServices, 'people'>): ActorLog => actorLogOf(people.audit, PROVIDER)

/** With each attempt another writer has changed the row. */
const ATTEMPTS_MAX = 50

const RANKS: Readonly<Record<PaymentState, number>> = { open: 0, failed: 1, expired: 1, paid: 2 }

/** Undefined: it is not a payment of this server. */
export async function applyPaymentNews(
  services: PaymentServices,
  news: PaymentNews,
): Promise<StoredPayment | undefined> {
  const found = await findPaymentOf(services, news)
  if (found === undefined) return undefined
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const payment = await findPaymentByRow(services.db, found.row)
    if (payment === undefined) return undefined
    const next = mergeNews(payment, news, services.clock.now())
    const payer = await payerWith(services, { payment, next, news })
    if (isSamePayment(payment, next) && payer === undefined) return settlePayment(services, payment.row)
    const [{ account, id: target }, change] = [payment, describeChange(payment, next)]
    const detail = payer?.failure === MONEY_WENT_BACK ? `${change}, automatic top-up off` : change
    const entry = { action: 'payment_changed', target, account, detail } as const
    const statements = [paymentUpdate(next), ...(payer === undefined ? [] : [payerUpdate(payer)])]
    if (await asProvider(services).act(entry, statements)) return settlePayment(services, payment.row)
  }
  throw new Error(`The payment ${found.id} is changed too often at once`)
}

async function findPaymentOf(services: PaymentServices, news: PaymentNews) {
  const { db, payments } = services
  const { payment, intent, dispute, refunded = 0n } = news
  if (payment !== undefined) return findPayment(db, payment)
  if (intent === undefined) return undefined
  const known = await findPaymentByIntent(db, intent)
  if (known !== undefined || payments === undefined || (dispute === undefined && refunded === 0n)) return known
  // A dispute that arrives before the payment: the provider knows which one it is.
  const asked = dispute === undefined ? undefined : await payments.provider.readIntent(intent)
  if (asked?.payment !== undefined) return findPayment(db, asked.payment)
  // Money of a plan: its charges name no payment, and their invoice may arrive later.
  const invoice = await payments.provider.readInvoiceOf(intent)
  if (invoice?.paid === undefined || !(await applySubscriptionNews(services, invoice))) return undefined
  return findPaymentByInvoice(db, invoice.paid.invoice)
}

/** A payment as it is with these news, which never takes it back. */
export function mergeNews(payment: StoredPayment, news: PaymentNews, now: number): StoredPayment {
  const inDollars = news.received ?? payment.received_nano
  const isPaid = news.state === 'paid' && inDollars !== null
  const said = news.state === 'paid' && !isPaid ? undefined : news.state
  const state = said !== undefined && RANKS[said] > RANKS[payment.state] ? said : payment.state
  const refunded = news.refunded ?? 0n
  const next: StoredPayment = {
    ...payment,
    state,
    received_nano: payment.received_nano ?? (isPaid ? inDollars : null),
    refunded_nano: refunded > payment.refunded_nano ? refunded : payment.refunded_nano,
    session: payment.session ?? news.session ?? null,
    intent: payment.intent ?? news.intent ?? null,
    receipt_url: payment.receipt_url ?? news.receiptUrl ?? null,
    failure: state === 'paid' ? null : (news.failure ?? payment.failure),
    paid_at: payment.paid_at ?? (state === 'paid' ? now : null),
    saves_card: news.card === undefined ? payment.saves_card : 0,
    ...mergeDispute(payment, news.dispute),
  }
  const isMoved = backOf(next) !== backOf(payment) || next.state !== payment.state
  return isMoved && state === 'paid' ? { ...next, settled: 0 } : next
}

/** An ended dispute is newer than an open one, in any order of arrival; of two ended ones the later counts. */
function mergeDispute({ dispute, disputed_nano, dispute_at }: StoredPayment, news: DisputeNews | undefined) {
  const kept = { dispute, disputed_nano, dispute_at }
  if (news === undefined) return kept
  const rank = (state: StoredPayment['dispute']) => (state === null ? 0 : state === 'open' ? 1 : 2)
  const isNewer = rank(news.state) > rank(dispute) || (rank(news.state) === rank(dispute) && news.at > dispute_at)
  if (!isNewer) return kept
  return { dispute: news.state, disputed_nano: news.state === 'won' ? 0n : news.amount, dispute_at: news.at }
}

const backOf = ({ refunded_nano, disputed_nano }: StoredPayment): bigint => refunded_nano + disputed_nano

function describeChange(payment: StoredPayment, next: StoredPayment): string {
  const parts = [
    payment.state === next.state ? undefined : `${next.state} (${inUsd(next.received_nano ?? next.amount_nano)})`,
    payment.refunded_nano === next.refunded_nano ? undefined : `refunded ${inUsd(next.refunded_nano)}`,
    payment.dispute === next.dispute ? undefined : `dispute ${next.dispute} over ${inUsd(next.disputed_nano)}`,
    payment.saves_card === next.saves_card ? undefined : 'card saved',
  ]
  return parts.filter((part) => part !== undefined).join(', ') || 'details'
}

/** Shown on the wallet's page. */
const MONEY_WENT_BACK = 'A payment was refunded or disputed.'

/**
 * The customer, and the card that its owner has asked to save. Money that goes back switches the automatic top-up off, which
 * would charge the card for it again. Undefined: nothing changes.
 */
async function payerWith(
  { db, files, clock }: PaymentServices,
  {
    payment,
    next,
    news,
  }: { readonly payment: StoredPayment; readonly next: StoredPayment; readonly news: PaymentNews },
): Promise<StoredPayer | undefined> {
  const { card, customer } = news
  const saved = payment.saves_card === 1 ? card : undefined
  const goesBack = backOf(next) > backOf(payment)
  if (saved === undefined && customer === undefined && !goesBack) return undefined
  const known = await findPayer(db, payment.account)
  if (known === undefined) await files.ledger.atomic([payerInsert(payment.account)])
  const payer = known ?? (await findPayer(db, payment.account))
  if (payer === undefined) return undefined
  const isSwitchedOff = goesBack && payer.automatic === 1
  const off = isSwitchedOff ? { automatic: 0, failure: MONEY_WENT_BACK, failed_at: clock.now() } : {}
  if (saved !== undefined) {
    const { customer, method, shown = 'card' } = saved
    return { ...payer, customer, method, card: shown, failures: 0, failure: null, ...off }
  }
  const isNew = payer.customer === null && customer !== undefined
  if (!isNew && !isSwitchedOff) return undefined
  return { ...payer, ...(isNew && { customer }), ...off }
}

/** What a paid payment adds to the wallet: never more than was ordered, and nothing where a plan was bought. */
const creditOf = ({ kind, received_nano, amount_nano }: StoredPayment): bigint => {
  if (kind === 'plan') return 0n
  const received = received_nano ?? 0n
  return received < amount_nano ? received : amount_nano
}

/** Adds the credit to the wallet, and takes back what was refunded or disputed, as far as the wallet has it. A plan follows too. */
export async function settlePayment(services: PaymentServices, row: number): Promise<StoredPayment> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const payment = await findPaymentByRow(services.db, row)
    if (payment === undefined) throw new Error(`There is no payment ${row}`)
    if (payment.state !== 'paid' || payment.settled === 1) return payment
    const steps = await listPaymentSteps(services.db, row)
    const pending = steps.find(({ done_at }) => done_at === null)
    if (pending !== undefined) await moveStep(services, payment, pending)
    else {
      const delta = await nextDelta(services, payment, steps)
      if (delta.move === 0n) {
        if (payment.purchase !== null) await assignPurchase(services, payment.purchase)
        await noteSettled(services, payment, delta.owed)
      } else await noteStep(services, payment, { step: steps.length, delta_nano: delta.move })
    }
  }
  throw new Error(`The payment ${row} could not be settled`)
}

/** The first step is the whole credit, so that the statement shows what was paid and then what was taken back. */
async function nextDelta({ ledger }: PaymentServices, payment: StoredPayment, steps: readonly PaymentStep[]) {
  const credit = creditOf(payment)
  if (steps.length === 0) return { move: credit, owed: 0n }
  const back = backOf(payment)
  const target = credit - (back < credit ? back : credit)
  const want = target - steps.reduce((sum, { delta_nano }) => sum + delta_nano, 0n)
  if (want >= 0n) return { move: want, owed: 0n }
  const { available } = await ledger.accountStatus(payment.account as AccountRow)
  const take = -want < available ? -want : available
  return take > 0n ? { move: -take, owed: 0n } : { move: 0n, owed: -want }
}

/** Changes nothing if news came in between: then the payment is looked at again. */
async function noteSettled({ files }: PaymentServices, payment: StoredPayment, owed: bigint): Promise<void> {
  const { sql, rows } = paymentUpdate({ ...payment, settled: 1, owed_nano: owed })
  await files.ledger.atomic([{ sql, rows }])
}

async function noteStep(
  services: PaymentServices,
  payment: StoredPayment,
  { step, delta_nano }: Pick<PaymentStep, 'step' | 'delta_nano'>,
): Promise<void> {
  const detail = `${inUsd(delta_nano)} (${refOf(payment, step)})`
  const entry = { action: 'payment_moved', target: payment.id, account: payment.account, detail } as const
  const insert = stepInsert({ payment: payment.row, step, delta_nano, at: services.clock.now() })
  await asProvider(services)
    .act(entry, [insert])
    .catch((error: unknown) => {
      // Another delivery has noted it.
      if (!isAlreadyThere(error)) throw error
    })
}

const PAYMENT_REF = 'stripe:'
export const refOf = ({ id }: StoredPayment, step: number): string =>
  `${PAYMENT_REF}${id}${step === 0 ? '' : `:${step}`}`

async function moveStep({ ledger, files, clock }: PaymentServices, payment: StoredPayment, step: PaymentStep) {
  const { delta_nano: delta } = step
  const reason = step.step === 0 ? 'Paid by card' : delta > 0n ? 'Given back after a dispute' : 'Refunded to the card'
  const outcome = await ledger.credit({
    ...{ account: payment.account as AccountRow, kind: delta > 0n ? 'credit' : 'refund', amount: delta as NanoUsd },
    ...{ reason, ref: refOf(payment, step.step) },
  })
  switch (outcome.kind) {
    case 'credited':
    case 'exists':
      return files.ledger.atomic([stepDone(step, clock.now())])
    case 'short':
      // Spent since the balance was read: the next step takes what is left.
      return files.ledger.atomic([stepVoid(step, clock.now())])
    default:
      throw new Error(`The step ${step.step} of ${payment.id} ended as ${outcome.kind}`)
  }
}

/** Brings what the provider says about a plan to the account. False: it is not a purchase of this server. */
export async function applySubscriptionNews(services: PaymentServices, news: SubscriptionNews): Promise<boolean> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const purchase = await findOrCreatePurchase(services, news)
    if (purchase === undefined) return false
    const next = mergePurchase(purchase, news)
    const statements = news.paid === undefined ? [] : await invoiceStatements(services, purchase, news.paid)
    if (isSamePurchase(purchase, next) && statements.length === 0) {
      await assignPurchase(services, purchase.row)
      return true
    }
    const [{ account }, target, detail] = [purchase, purchase.subscription, describePurchase(next, news)]
    const entry = { action: 'payment_changed', target, account, detail } as const
    try {
      await asProvider(services).act(entry, [purchaseUpdate(next), ...statements])
    } catch (error) {
      // Another delivery has noted the invoice.
      if (!isAlreadyThere(error)) throw error
    }
  }
  throw new Error(`The purchase ${news.subscription} is changed too often at once`)
}

async function findOrCreatePurchase({ db, files, clock }: PaymentServices, news: SubscriptionNews) {
  const known = await findPurchase(db, news.subscription)
  if (known !== undefined || news.account === undefined || news.plan === undefined) return known
  const account = await findAccountById(db, news.account)
  if (account === undefined) return undefined
  const { subscription, plan } = news
  await files.ledger.atomic([purchaseInsert({ subscription, account: account.row, plan, created_at: clock.now() })])
  return findPurchase(db, subscription)
}

/** The newest status counts, and an ended one for ever. */
export function mergePurchase(purchase: StoredPurchase, news: SubscriptionNews): StoredPurchase {
  const isNewer =
    news.status !== undefined &&
    (news.at > purchase.status_at || (news.at === purchase.status_at && news.status === 'canceled'))
  if (!isNewer || purchase.status === 'canceled') return purchase
  const cancels = news.cancelsAtEnd === undefined ? purchase.cancels : Number(news.cancelsAtEnd)
  return { ...purchase, status: news.status ?? null, status_at: news.at, cancels }
}

const describePurchase = (next: StoredPurchase, { paid }: SubscriptionNews): string =>
  paid === undefined
    ? `${next.plan}: ${next.status ?? 'begun'}${next.cancels === 1 ? ', does not renew' : ''}`
    : `${next.plan}: paid ${inUsd(paid.amount)} until ${isoTime(paid.periodEnd)}`

/** The invoice among the payments of the account, once. */
async function invoiceStatements(
  { db, clock, random }: PaymentServices,
  { row: purchase, account, plan }: StoredPurchase,
  paid: PaidInvoice,
): Promise<readonly AtomicStatement[]> {
  const { invoice, amount, periodEnd: period_end } = paid
  const known = await findPaymentByInvoice(db, invoice)
  if (known !== undefined) return known.purchase === null ? [paymentUpdate({ ...known, purchase, period_end })] : []
  const money = { received_nano: amount, receipt_url: paid.receiptUrl ?? null, paid_at: clock.now() }
  const facts = { ...money, invoice, purchase, period_end }
  const begun = paid.payment === undefined ? undefined : await findPayment(db, paid.payment)
  if (begun !== undefined && begun.account === account && begun.invoice === null) {
    return [paymentUpdate({ ...begun, ...facts, state: 'paid', failure: null })]
  }
  const renewal = { id: mintPaymentId(random), account, kind: 'plan', state: 'paid', amount_nano: amount } as const
  return [invoiceInsert({ ...renewal, ...facts, plan, saves_card: 0, created_at: clock.now() })]
}

/** When the plan has to end: a little after a period that is renewed, whose invoice is paid later than it begins. */
const assignedUntil = ({ payments }: PaymentServices, { cancels }: StoredPurchase, paidUntil: number): number =>
  cancels === 1 || paidUntil === 0 ? paidUntil : paidUntil + (payments?.terms.renewalGraceMs ?? 0)

/** Purchases of an account, of which more than one runs only by accident. */
const PURCHASES_MAX = 10

/**
 * Assigns the plan until the end of what is paid, and ends it earlier when that was given back. A longer end of the same plan that
 * an operator has set stays. False: the configuration has no such plan.
 */
export async function assignPurchase(services: PaymentServices, row: number): Promise<boolean> {
  const { db, clock, files } = services
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const purchase = await findPurchaseByRow(db, row)
    if (purchase === undefined) return true
    const paidUntil = (await findPaidUntil(db, row)) ?? purchase.paid_until
    const endsAt = assignedUntil(services, purchase, paidUntil)
    const isSame = endsAt === purchase.assigned_until && paidUntil === purchase.paid_until
    // After a change at the same time the plan is what the other one or this one has made of it.
    if (isSame && attempt === 1) return true
    const isOver = endsAt <= clock.now() && purchase.assigned_until <= clock.now()
    if (!isOver && !(await orderPlan(services, purchase, endsAt))) return false
    const next = { ...purchase, paid_until: paidUntil, assigned_until: endsAt }
    const { sql, rows } = purchaseUpdate(next)
    const [changed] = await files.ledger.atomic([{ sql, rows }])
    if (changed === 1) return true
  }
  throw new Error(`The purchase ${row} is changed too often at once`)
}

async function orderPlan(services: PaymentServices, purchase: StoredPurchase, endsAt: number): Promise<boolean> {
  const { db, clock, ledger, catalog, forgetAccount } = services
  const { plan: id, subscription, assigned_until: before } = purchase
  const account = purchase.account as AccountRow
  const others = (await listPurchasesOf(db, account, PURCHASES_MAX)).filter(
    ({ row, plan }) => row !== purchase.row && plan === id,
  )
  const until = Math.max(endsAt, ...others.map(({ assigned_until }) => assigned_until))
  const { subscription: running } = await ledger.allowanceStatuses(account, [])
  const isRunning = running?.plan === id
  const isOwn = isRunning && running.endsAt === before
  const isLonger = isRunning && (running.endsAt === undefined || running.endsAt > until)
  if (!isOwn && (isLonger || endsAt < before)) return true
  const isEnd = until <= clock.now()
  const plan = catalog().plans.get(id)
  if (plan === undefined && !isEnd) return false
  const detail = `${id} ${isEnd ? 'ends now' : `until ${isoTime(until)}`} (${subscription})`
  await asProvider(services).announce({ action: 'plan_ordered', target: subscription, account, detail })
  const order =
    plan === undefined || isEnd
      ? ledger.endPlan({ account })
      : ledger.assignPlan({ account, plan: id, windows: plan.windows, endsAt: until })
  await order.finally(() => forgetAccount(account))
  return true
}

/** `done`: it is durable, so the provider need not send it again. */
type EventOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'off' }
  | { readonly kind: 'refused'; readonly message: string }

/** Takes a delivery of the provider. Everything that it leads to can be done twice, and its id is noted last. */
export async function receiveEvent(services: PaymentServices, body: Buffer, signature: string): Promise<EventOutcome> {
  const { payments, db, clock, files } = services
  if (payments === undefined) return { kind: 'off' }
  const verified = await payments.provider.verifyEvent(body, signature, clock.now())
  if (verified.kind === 'refused') return verified
  const { id, type, news } = verified.event
  if (news.kind === 'ignored' || (await findPaymentEvent(db, id)) !== undefined) return { kind: 'done' }
  if (news.kind === 'payment') await applyPaymentNews(services, news.payment)
  else await applySubscriptionNews(services, news.subscription)
  await files.ledger.atomic([eventInsert(id, type, clock.now())])
  return { kind: 'done' }
}

/** The provider sends an event again for three days. */
const EVENTS_KEPT_MS = 30 * 86_400_000

export const sweepPaymentEvents = ({ files, clock }: Pick<PaymentServices, 'files' | 'clock'>) =>
  files.ledger.atomic([eventsDelete(clock.now() - EVENTS_KEPT_MS)])
