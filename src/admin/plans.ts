import type { z } from 'zod'
import type { Catalog, Plan } from '../catalog/catalog.ts'
import { modelsOfPlan } from '../catalog/resolve-model.ts'
import type { window } from '../contract/owner.ts'
import type { StoredAccount } from '../db/accounts.ts'
import {
  countByBucket,
  countRunningPlans,
  findPlanClosingTime,
  findSubscription,
  listLatestWindows,
  listWindowSubjects,
  type StoredSubscription,
  type StoredWindow,
} from '../db/allowances.ts'
import { findSliceStart } from '../db/statement.ts'
import type { LedgerDb } from '../db/tables.ts'
import { isUnused } from '../ledger/state/allowances.ts'
import type { AllowanceStatus } from '../ledger/state/state.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import { type OneAccount, resolveAccount, resolveOpenAccount } from './accounts.ts'
import { applyOrder } from './audit.ts'
import { done, ifDone, refuseOperation } from './outcome.ts'
import type { AdminServices } from './services.ts'
import { isoTime, isoTimeOrNull, parseExpiry, quoted, SLICE_REQUESTS, unreadableMoment } from './values.ts'

type PlanServices = Pick<AdminServices, 'db' | 'ledger' | 'catalog'>

/**
 * Assigns a plan to an account: a first one, another one, or the same one with another end. Without `until`, it runs until it
 * is ended.
 */
export async function assignPlan(
  services: AdminServices,
  args: OneAccount & { readonly plan: string; readonly until?: string | undefined },
) {
  const resolved = await resolveOpenAccount(services, args.account)
  if (resolved.kind === 'refused') return resolved
  const { value: account } = resolved
  const { plans } = services.catalog()
  const plan = plans.get(args.plan)
  if (plan === undefined) {
    const known = [...plans.keys()].join(', ') || 'none'
    const message = `The configuration has no plan ${quoted(args.plan)}. Plans: ${known}.`
    return refuseOperation('plan_not_found', message, { param: 'plan' })
  }
  const endsAt = args.until === undefined ? undefined : parseExpiry(args.until, services.clock.now())
  if (args.until !== undefined && endsAt === undefined) return unreadableMoment(args.until, 'until')
  const row = account.row as AccountRow
  const detail = `${plan.id}${endsAt === undefined ? '' : ` until ${isoTime(endsAt)}`}`
  return applyOrder(services, { action: 'plan_ordered', target: account.id, account: row, detail }, async () => {
    const order = { account: row, plan: plan.id, windows: plan.windows, endsAt }
    await services.ledger.assignPlan(order).finally(() => services.forgetAccount(row))
    return { outcome: done(await subscriptionOf(services, account)) }
  })
}

/** Ends a plan, without `at` at once. Running requests finish and are settled on the windows that hold them. */
export async function endPlan(services: AdminServices, args: OneAccount & { readonly at?: string | undefined }) {
  const resolved = await resolveAccount(services, args.account)
  if (resolved.kind === 'refused') return resolved
  const { value: account } = resolved
  const endsAt = args.at === undefined ? undefined : parseExpiry(args.at, services.clock.now())
  if (args.at !== undefined && endsAt === undefined) return unreadableMoment(args.at, 'at')
  const row = account.row as AccountRow
  const detail = endsAt === undefined ? 'now' : `at ${isoTime(endsAt)}`
  return applyOrder(services, { action: 'plan_end_ordered', target: account.id, account: row, detail }, async () => {
    const order = { account: row, ...(endsAt !== undefined && { endsAt }) }
    const ended = await services.ledger.endPlan(order).finally(() => services.forgetAccount(row))
    if (ended.kind !== 'no-subscription') return { outcome: done(await subscriptionOf(services, account)) }
    const message = `${account.email} has no active subscription. See: millrace plans show ${account.email}`
    return { outcome: refuseOperation('no_subscription', message) }
  })
}

/** A plan of the configuration. */
export type PlanView = ReturnType<typeof planView>

export const planView = (catalog: Pick<Catalog, 'entries'>, plan: Plan) => ({
  id: plan.id,
  models: [...plan.models],
  opens: modelsOfPlan(catalog.entries.values(), plan),
  windows: plan.windows.map(({ name, amount }) => ({ name, allowance: formatUsd(amount) })),
})

export async function listPlans({ db, clock, catalog }: AdminServices) {
  const configured = catalog()
  const counts = new Map((await countRunningPlans(db, clock.now())).map((row) => [row.plan, row.accounts]))
  const items = [...configured.plans.values()].map((plan) => ({
    ...planView(configured, plan),
    accounts: counts.get(plan.id) ?? 0,
  }))
  return done({ items })
}

interface PlanOfAccount {
  /** `not_configured`: the subscription is active, but the configuration no longer has its plan, so it cannot be used. */
  readonly state: 'none' | 'active' | 'ended' | 'not_configured'
  /** The newest subscription, active or ended. */
  readonly newest: StoredSubscription | undefined
  /** Its plan, as configured now. */
  readonly configured: Plan | undefined
}

/** The current subscription of an account, decided like an admission of the ledger. */
export async function planOfAccount(
  { db, ledger, catalog }: PlanServices,
  account: AccountRow,
): Promise<PlanOfAccount> {
  const newest = await findSubscription(db, account)
  if (newest === undefined) return { state: 'none', newest, configured: undefined }
  const configured = catalog().plans.get(newest.plan)
  // By ledger time, which never goes back: by the wall clock an ended plan could become active again.
  const { subscription } = await ledger.allowanceStatuses(account, [])
  if (subscription === undefined) return { state: 'ended', newest, configured }
  return { state: configured === undefined ? 'not_configured' : 'active', newest, configured }
}

export const subscriptionFacts = ({ state, newest }: PlanOfAccount) => ({
  state,
  plan: newest?.plan ?? null,
  since: isoTimeOrNull(newest?.started_at ?? null),
  until: isoTimeOrNull(newest?.ends_at ?? null),
  /** The day of the month on which monthly windows start. */
  billing_day: newest?.billing_day ?? null,
})

export type SubscriptionView = Awaited<ReturnType<typeof subscriptionOf>>

export const showPlan = (services: AdminServices, args: OneAccount) =>
  ifDone(resolveAccount(services, args.account), async (account) => done(await subscriptionOf(services, account)))

async function subscriptionOf(services: AdminServices, { id, email, row }: StoredAccount) {
  const plan = await planOfAccount(services, row as AccountRow)
  const windows = (await windowStatuses(services, row as AccountRow, plan)).map(windowView)
  return { account: id, email, ...subscriptionFacts(plan), windows }
}

/** The windows as the next admission sees them; none of a plan that cannot be used. */
async function windowStatuses({ ledger }: PlanServices, account: AccountRow, { state, configured }: PlanOfAccount) {
  if (state !== 'active' || configured === undefined) return []
  return (await ledger.allowanceStatuses(account, configured.windows)).statuses
}

type WindowStatus = z.output<typeof window>

/** Past windows in the answer, per kind and in total. */
const PAST_OF_A_KIND = 10
const PAST_MAX = 30

/** The plan of an account with its current windows, and past windows that no plan has now. */
export async function planStatus(services: PlanServices, account: AccountRow) {
  // Read before the plan, so that a window that opens meanwhile is among the current ones.
  const latest = await latestWindows(services.db, account)
  const plan = await planOfAccount(services, account)
  const { configured } = plan
  const windows = await windowsOf(services.db, account, await windowStatuses(services, account, plan))
  return {
    ...subscriptionFacts(plan),
    models: configured === undefined ? [] : modelsOfPlan(services.catalog().entries.values(), configured),
    windows,
    past: pastWindows(latest, windows),
  }
}

async function windowsOf(
  db: LedgerDb,
  account: AccountRow,
  statuses: readonly AllowanceStatus[],
): Promise<WindowStatus[]> {
  const running = statuses.flatMap(({ running: bucket }) =>
    bucket === undefined ? [] : [{ bucket: bucket.row as number, start: bucket.start }],
  )
  const counts = await countOnWindows(db, account, running)
  return statuses.map((status) => {
    const view = windowView(status)
    const bucket = view.opened ? status.running : undefined
    if (bucket === undefined) return { ...view, id: null, requests: 0 }
    return { ...view, id: windowId(bucket), requests: counts.get(bucket.row) ?? null }
  })
}

/** The latest windows of each kind that the account ever had; a running one is among them. */
async function latestWindows(db: LedgerDb, account: AccountRow): Promise<StoredWindow[]> {
  const subjects = await listWindowSubjects(db, account)
  const listed = subjects.map((subject) => listLatestWindows(db, account, { subject, limit: PAST_OF_A_KIND + 1 }))
  return (await Promise.all(listed)).flat()
}

/** Used windows that are over, or that the account's plan no longer has. */
function pastWindows(latest: readonly StoredWindow[], windows: readonly WindowStatus[]) {
  const running = new Set(windows.map(({ id }) => id))
  return latest
    .map((stored) => ({ stored, id: windowId({ subject: stored.subject, start: stored.period_start }) }))
    .filter(({ stored, id }) => usedOf(stored) > 0n && !running.has(id))
    .sort((one, other) => other.stored.period_end - one.stored.period_end)
    .slice(0, PAST_MAX)
    .map(({ stored, id }) => {
      const { name, start, end, limit, used } = storedWindow(stored, null)
      return { id, name, start, end, limit, used }
    })
}

const SUBJECT = 'window:'

interface NamedWindow {
  readonly subject: string
  readonly start: number
}

/**
 * A window's name and start, which its account sees anyway. The number of its row would reveal how many windows the server
 * has.
 */
export const windowId = ({ subject, start }: NamedWindow): string =>
  `${start.toString(36)}.${subject.slice(SUBJECT.length)}`

export function parseWindowId(id: string): NamedWindow | undefined {
  const [, start, name] = /^([0-9a-z]{1,11})\.(.{1,100})$/su.exec(id) ?? []
  if (start === undefined || name === undefined) return undefined
  const at = Number.parseInt(start, 36)
  return Number.isSafeInteger(at) ? { subject: `${SUBJECT}${name}`, start: at } : undefined
}

const usedOf = ({ entered_nano, posted_nano }: StoredWindow): bigint => entered_nano - posted_nano

/** A window from the database. A window that is over has nothing left, whatever has expired of it. */
export function storedWindow(stored: StoredWindow, requests: number | null): WindowStatus {
  const { subject, period_start: start, period_end: end, posted_nano, held_nano, granted_nano } = stored
  return {
    ...{ name: subject.slice(SUBJECT.length), opened: true, id: windowId({ subject, start }) },
    ...{ start: isoTime(start), end: isoTime(end), limit: formatUsd(granted_nano), used: formatUsd(usedOf(stored)) },
    ...{ held: formatUsd(held_nano), left: formatUsd(posted_nano - held_nano), requests },
  }
}

/** Slices that are counted for a page; a window with more requests has no count. */
const COUNTED_SLICES = 3

/**
 * How many requests have held on each window since its start, by its bucket. One pass counts all windows, from the running and
 * newest requests back, for a bounded number of slices. A window that starts before the end of the pass is not in the result.
 */
export async function countOnWindows(
  db: LedgerDb,
  account: number,
  windows: readonly { readonly bucket: number; readonly start: number }[],
): Promise<ReadonlyMap<number, number>> {
  if (windows.length === 0) return new Map()
  const earliest = Math.min(...windows.map(({ start }) => start))
  const counts = new Map<number, number>()
  let reached = Number.NEGATIVE_INFINITY
  for (let [slice, before] = [0, Number.MAX_SAFE_INTEGER]; slice < COUNTED_SLICES; slice++) {
    const from = await findSliceStart(db, account, { kinds: ['builder'], before, requests: SLICE_REQUESTS })
    const found = await countByBucket(db, account, { from: from ?? 0, before, running: slice === 0 })
    for (const [bucket, requests] of found) counts.set(bucket, (counts.get(bucket) ?? 0) + requests)
    reached = from === undefined ? Number.NEGATIVE_INFINITY : ((await findPlanClosingTime(db, account, from)) ?? 0)
    if (from === undefined || reached < earliest) break
    before = from
  }
  const whole = windows.filter(({ start }) => reached < start)
  return new Map(whole.map(({ bucket }) => [bucket, counts.get(bucket) ?? 0]))
}

export type WindowView = ReturnType<typeof windowView>

/** A window of a plan. An unused window has not opened, so it has no times. */
export function windowView(status: AllowanceStatus) {
  const { allowance, period, running } = status
  const opened = running !== undefined && !isUnused(running)
  return {
    name: allowance.name,
    opened,
    start: opened ? isoTime(period.start) : null,
    end: opened ? isoTime(period.end) : null,
    ...amountsOf(status),
  }
}

/** `used`, `held` and `left` add up to `limit`. */
function amountsOf({ granted, posted, held }: AllowanceStatus) {
  const left = posted > held ? posted - held : 0n
  return { limit: formatUsd(granted), used: formatUsd(granted - posted), held: formatUsd(held), left: formatUsd(left) }
}
