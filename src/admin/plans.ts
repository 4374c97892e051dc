import type { z } from 'zod'
import type { Catalog, Plan } from '../catalog/catalog.ts'
import { modelsOfPlan } from '../catalog/resolve-model.ts'
import type { planItem } from '../contract/operate.ts'
import type { planAnswer } from '../contract/owner.ts'
import type { StoredAccount } from '../db/accounts.ts'
import { listLatestWindows, listWindowSubjects, type StoredWindow } from '../db/allowances.ts'
import { countRunningPlans, findSubscription, type StoredSubscription } from '../db/subscriptions.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { AllowanceStatus } from '../ledger/state/state.ts'
import type { Clock } from '../lib/clock.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import { type ChangeAccountDeps, type OneAccount, resolveAccount, resolveOpenAccount } from './accounts.ts'
import { applyOrder } from './audit.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'
import { isoTime, isoTimeOrNull, parseExpiry, quoted, unreadableMoment } from './values.ts'
import {
  countOnWindows,
  storedWindow,
  usedOf,
  type WindowStatus,
  type WindowView,
  windowId,
  windowView,
} from './windows.ts'

interface PlanOrder extends OneAccount {
  readonly plan: string
  /** A moment to come; without one it runs until it is ended. */
  readonly until?: string | undefined
}

export interface AssignPlanDeps extends ShowPlanDeps, ChangeAccountDeps {
  readonly clock: Clock
  readonly ledger: Pick<Ledger, 'allowanceStatuses' | 'assignPlan' | 'endPlan'>
}

/** Puts an account on a plan: a first one, another one, or the same one with another end. */
export async function assignPlan(deps: AssignPlanDeps, args: PlanOrder): Promise<Outcome<SubscriptionView>> {
  const resolved = await resolveOpenAccount(deps, args.account)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  const { plans } = deps.catalog()
  const plan = plans.get(args.plan)
  if (plan === undefined) {
    const known = [...plans.keys()].join(', ') || 'none'
    return refused('plan_not_found', `The configuration has no plan ${quoted(args.plan)}. Plans: ${known}.`, {
      param: 'plan',
    })
  }
  const endsAt = args.until === undefined ? undefined : parseExpiry(args.until, deps.clock.now())
  if (args.until !== undefined && endsAt === undefined) return unreadableMoment(args.until, 'until')
  const row = account.row as AccountRow
  const detail = `${plan.id}${endsAt === undefined ? '' : ` until ${isoTime(endsAt)}`}`
  return applyOrder(deps, { action: 'plan_ordered', target: account.id, account: row, detail }, async () => {
    const order = { account: row, plan: plan.id, windows: plan.windows, endsAt }
    await deps.ledger.assignPlan(order).finally(() => deps.forgetAccount(row))
    return { outcome: done(await subscriptionOf(deps, account)) }
  })
}

interface PlanEnd extends OneAccount {
  /** A moment to come; without one it ends at once. */
  readonly at?: string | undefined
}

/** Requests that are running finish, and are settled where they were held. */
export async function endPlan(deps: AssignPlanDeps, args: PlanEnd): Promise<Outcome<SubscriptionView>> {
  const resolved = await resolveAccount(deps, args.account)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  const endsAt = args.at === undefined ? undefined : parseExpiry(args.at, deps.clock.now())
  if (args.at !== undefined && endsAt === undefined) return unreadableMoment(args.at, 'at')
  const row = account.row as AccountRow
  const detail = endsAt === undefined ? 'now' : `at ${isoTime(endsAt)}`
  return applyOrder(deps, { action: 'plan_end_ordered', target: account.id, account: row, detail }, async () => {
    const order = { account: row, ...(endsAt !== undefined && { endsAt }) }
    const ended = await deps.ledger.endPlan(order).finally(() => deps.forgetAccount(row))
    return {
      outcome:
        ended.kind === 'no-subscription' ? noSubscription(account.email) : done(await subscriptionOf(deps, account)),
    }
  })
}

const noSubscription = (email: string): Refused =>
  refused('no_subscription', `${email} has no running subscription. See: millrace plans show ${email}`)

type PlanItem = z.output<typeof planItem>

/** A plan as the configuration has it. */
export type PlanView = Omit<PlanItem, 'accounts'>

export const planView = (catalog: Pick<Catalog, 'entries'>, plan: Plan): PlanView => ({
  id: plan.id,
  models: [...plan.models],
  opens: modelsOfPlan(catalog.entries.values(), plan),
  windows: plan.windows.map(({ name, amount }) => ({ name, allowance: formatUsd(amount) })),
})

/** `12.00 USD every 5h, 60.00 USD every month` */
export const describeWindows = ({ windows }: Pick<PlanView, 'windows'>): string =>
  windows.map(({ name, allowance }) => `${allowance} USD every ${name}`).join(', ')

interface ListPlansDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly catalog: () => Catalog
}

/** The plans of the configuration. */
export async function listPlans(deps: ListPlansDeps): Promise<Outcome<{ items: PlanItem[] }>> {
  const catalog = deps.catalog()
  const counts = new Map((await countRunningPlans(deps.db, deps.clock.now())).map((row) => [row.plan, row.accounts]))
  const items = [...catalog.plans.values()].map((plan) => ({
    ...planView(catalog, plan),
    accounts: counts.get(plan.id) ?? 0,
  }))
  return done({ items })
}

export interface PlanOfAccountDeps {
  readonly db: LedgerDb
  readonly ledger: Pick<Ledger, 'allowanceStatuses'>
  readonly catalog: () => Pick<Catalog, 'plans'>
}

/** `not_configured`: the subscription runs, but the configuration has no such plan (any more): nothing can be used. */
type SubscriptionState = 'none' | 'active' | 'ended' | 'not_configured'

interface PlanOfAccount {
  readonly state: SubscriptionState
  /** The newest subscription, running or ended. */
  readonly newest: StoredSubscription | undefined
  /** Its plan, as the configuration has it now. */
  readonly configured: Plan | undefined
}

/** What an account is subscribed to at this moment. Whoever asks that asks here; the books decide alike when a request comes. */
export async function planOfAccount(deps: PlanOfAccountDeps, account: AccountRow): Promise<PlanOfAccount> {
  const newest = await findSubscription(deps.db, account)
  if (newest === undefined) return { state: 'none', newest, configured: undefined }
  const configured = deps.catalog().plans.get(newest.plan)
  // By the time of the books, which never goes back: by the machine's clock a plan that was ended could run again.
  const { subscription } = await deps.ledger.allowanceStatuses(account, [])
  if (subscription === undefined) return { state: 'ended', newest, configured }
  return { state: configured === undefined ? 'not_configured' : 'active', newest, configured }
}

export interface SubscriptionFacts {
  readonly state: SubscriptionState
  readonly plan: string | null
  /** Since when on this plan. */
  readonly since: string | null
  readonly until: string | null
  /** The day of the month on which its months turn. */
  readonly billing_day: number | null
}

export const subscriptionFacts = ({ state, newest }: PlanOfAccount): SubscriptionFacts => ({
  state,
  plan: newest?.plan ?? null,
  since: isoTimeOrNull(newest?.started_at ?? null),
  until: isoTimeOrNull(newest?.ends_at ?? null),
  billing_day: newest?.billing_day ?? null,
})

type ShowPlanDeps = PlanOfAccountDeps

/** What an account is subscribed to, and how its windows stand. */
export interface SubscriptionView extends SubscriptionFacts {
  readonly account: string
  readonly email: string
  readonly windows: readonly WindowView[]
}

export async function showPlan(deps: ShowPlanDeps, args: OneAccount): Promise<Outcome<SubscriptionView>> {
  const resolved = await resolveAccount(deps, args.account)
  return resolved.kind === 'found' ? done(await subscriptionOf(deps, resolved.account)) : resolved
}

async function subscriptionOf(deps: ShowPlanDeps, account: StoredAccount): Promise<SubscriptionView> {
  const { id, email, row } = account
  const plan = await planOfAccount(deps, row as AccountRow)
  const windows = (await limitStatusesOf(deps, row as AccountRow, plan)).map(windowView)
  return { account: id, email, ...subscriptionFacts(plan), windows }
}

/** Its windows as the next admission sees them; none of a plan that cannot be used. */
async function limitStatusesOf(
  { ledger }: Pick<ShowPlanDeps, 'ledger'>,
  account: AccountRow,
  { state, configured }: PlanOfAccount,
) {
  if (state !== 'active' || configured === undefined) return []
  return (await ledger.allowanceStatuses(account, configured.windows)).statuses
}

export interface PlanStatusDeps extends ShowPlanDeps {
  readonly catalog: () => Pick<Catalog, 'plans' | 'entries'>
}

type PlanAnswer = z.output<typeof planAnswer>

/** How many of the others are told, of each kind and in all. */
const PAST_OF_A_KIND = 10
const PAST = 30

/** The plan of an account: its windows as admission sees them, and those that are over or that no plan has now. */
export async function planStatus(deps: PlanStatusDeps, account: AccountRow): Promise<Outcome<PlanAnswer>> {
  // Read before the plan: a window that opens meanwhile is then among those that run, and not among the others.
  const latest = await latestWindows(deps.db, account)
  const plan = await planOfAccount(deps, account)
  const { configured } = plan
  const windows = await windowsOf(deps.db, account, await limitStatusesOf(deps, account, plan))
  return done({
    ...subscriptionFacts(plan),
    models: configured === undefined ? [] : modelsOfPlan(deps.catalog().entries.values(), configured),
    windows,
    past: pastWindows(latest, windows),
  })
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
  return statuses.map((standing) => {
    const view = windowView(standing)
    const bucket = view.opened ? standing.running : undefined
    if (bucket === undefined) return { ...view, id: null, requests: 0 }
    return { ...view, id: windowId(bucket), requests: counts.get(bucket.row) ?? null }
  })
}

/** Of each kind that the account ever had one of. */
async function latestWindows(db: LedgerDb, account: AccountRow): Promise<StoredWindow[]> {
  const subjects = await listWindowSubjects(db, account)
  // The one that runs is among the latest.
  const listed = subjects.map((subject) => listLatestWindows(db, account, { subject, limit: PAST_OF_A_KIND + 1 }))
  return (await Promise.all(listed)).flat()
}

/**
 * Windows that are over, and those whose time still runs, but whose plan has ended or has no such window any more. What
 * nobody has used has not opened, and so has not ended either.
 */
function pastWindows(latest: readonly StoredWindow[], windows: readonly WindowStatus[]): PlanAnswer['past'] {
  const running = new Set(windows.map(({ id }) => id))
  return latest
    .filter((each) => usedOf(each) > 0n && !running.has(idOf(each)))
    .sort((one, other) => other.period_end - one.period_end)
    .slice(0, PAST)
    .map(pastOf)
}

const idOf = ({ subject, period_start: start }: StoredWindow): string => windowId({ subject, start })

function pastOf(stored: StoredWindow): PlanAnswer['past'][number] {
  const { name, start, end } = storedWindow(stored, null)
  return {
    ...{ id: idOf(stored), name, start, end },
    ...{ limit: formatUsd(stored.granted_nano), used: formatUsd(usedOf(stored)) },
  }
}
