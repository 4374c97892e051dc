import type { z } from 'zod'
import type { buyPlanBody, plansSold, renewalBody } from '../contract/payments.ts'
import { findPurchase, listOpenPlanPayments, listPurchasesOf, type StoredPurchase } from '../db/payments.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import { type PaymentProvider, PaymentProviderFailed } from '../payments/provider.ts'
import { done, type OperationRefused, type Outcome, refuseOperation } from './outcome.ts'
import { applySubscriptionNews } from './payment-news.ts'
import { pagesOf, providerFailed, startCheckout } from './payments.ts'
import type { AdminServices } from './services.ts'
import { isoTimeOrNull, quoted } from './values.ts'

/** Plans that are bought by card: assigned for each period that is paid, and not longer. */

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
