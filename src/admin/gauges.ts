import { levelOf } from '../db/content/usage-totals.ts'
import { CAP_KINDS, isCapName, periodAt } from '../model/allowance.ts'
import type { Caller } from '../model/caller.ts'
import type { KeyRow } from '../model/ids.ts'
import { formatUsd, type NanoUsd, parseUsd } from '../model/money.ts'
import { type DescribeKeyServices, describeKey } from './keys.ts'
import type { OwnerServices } from './services.ts'
import { listWhole, usedBetween } from './usage-report.ts'

/*
 * What a key has used and has left, in the shapes that tools of other gateways read. Money is a number there. The exact strings, and all
 * caps and windows instead of the one with the least left, are in `GET /v1/key`.
 */

export type GaugeServices = DescribeKeyServices & Pick<OwnerServices, 'content' | 'usage' | 'clock'>

type KeyView = Awaited<ReturnType<typeof describeKey>>

/** `GET /v1/key` for us, and with `data` as OpenRouter answers it. */
export async function keyForTools(services: GaugeServices, caller: Caller) {
  const [view, used] = await Promise.all([describeKey(services, caller), usedByKey(services, caller)])
  const tightest = tightestOf(view)
  return {
    ...view,
    data: {
      label: caller.keyName,
      ...{ usage: used.ever, usage_daily: used.day, usage_weekly: used.week, usage_monthly: used.month },
      ...{ byok_usage: 0, byok_usage_daily: 0, byok_usage_weekly: 0, byok_usage_monthly: 0 },
      limit: tightest === undefined ? null : Number(tightest.limit),
      limit_remaining: tightest === undefined ? null : Number(tightest.left),
      limit_reset: (tightest && RESETS[tightest.name]) ?? null,
      ...{ include_byok_in_limit: false, is_free_tier: false, is_management_key: false, is_provisioning_key: false },
      ...{ creator_user_id: null, organization_id: null, workspace_id: null, allowed_data_regions: [] },
      free_model_daily_requests: { limit: 0, remaining: 0, used: 0 },
      rate_limit: { requests: view.limits.key.requests_per_minute ?? -1, interval: '60s', note: 'See limits.' },
    },
  }
}

const RESETS: Readonly<Record<string, string>> = { day: 'daily', week: 'weekly', month: 'monthly' }

/** As OpenRouter's `GET /credits`: the difference of the two is what is left. */
export async function creditsForTools(services: GaugeServices, caller: Caller) {
  const view = await describeKey(services, caller)
  // A key that reads only its own requests learns nothing of what others have used.
  const [charged] = await chargedSince(services, caller, caller.readsOwnOnly ? caller.key : undefined, [0])
  const tightest = tightestOf(view)
  const data =
    view.wallet !== null
      ? { total_credits: usd((charged! + parseUsd(view.wallet.balance)!) as NanoUsd), total_usage: usd(charged!) }
      : { total_credits: Number(tightest?.limit ?? 0), total_usage: Number(tightest?.used ?? 0) }
  return { data }
}

/** As LiteLLM's `GET /key/info` for the calling key. */
export async function keyInfoForTools(services: GaugeServices, caller: Caller) {
  const [view, used] = await Promise.all([describeKey(services, caller), usedByKey(services, caller)])
  const tightest = tightestOf(view)
  return {
    key: view.id,
    info: {
      ...{ key_name: view.id, key_alias: view.name, user_id: null, team_id: null, metadata: {}, blocked: false },
      // What LiteLLM spends against a budget, it counts from the last reset.
      spend: tightest === undefined ? used.ever : Number(tightest.used),
      max_budget: tightest === undefined ? null : Number(tightest.limit),
      budget_duration: (tightest && DURATIONS[tightest.name]) ?? null,
      budget_reset_at: tightest?.end ?? null,
      models: view.models ?? [],
      tpm_limit: view.limits.key.tokens_per_minute ?? null,
      rpm_limit: view.limits.key.requests_per_minute ?? null,
      max_parallel_requests: view.limits.key.concurrent ?? null,
    },
  }
}

const DURATIONS: Readonly<Record<string, string>> = { day: '1d', week: '7d', month: '30d', quarter: '90d' }

/** A tool's number: exact up to about nine million dollars. */
const usd = (amount: NanoUsd): number => Number(formatUsd(amount))

/** Charged so far, today, this week and this month, in UTC. */
async function usedByKey(services: GaugeServices, caller: Caller) {
  const now = services.clock.now()
  const [day, week, month] = (['day', 'week', 'month'] as const).map(
    (name) => periodAt(CAP_KINDS[name].cycle, now, 1).start,
  )
  const starts = [0, day!, week!, month!].sort((one, other) => one - other)
  const charged = await chargedSince(services, caller, caller.key, starts)
  const since = (start: number) => usd(charged[starts.indexOf(start)]!)
  return { ever: since(0), day: since(day!), week: since(week!), month: since(month!) }
}

/** Of the caps in dollars and the windows of the plan, the one with the least left: it refuses first. */
function tightestOf({ caps, windows }: KeyView) {
  const inDollars = caps.filter(({ name }) => isCapName(name) && CAP_KINDS[name].measure === 'usd')
  return [...inDollars, ...windows].reduce<
    { name: string; limit: string; used: string; left: string; end: string | null } | undefined
  >((least, each) => (least === undefined || Number(each.left) < Number(least.left) ? each : least), undefined)
}

const DAY_MS = 86_400_000

/** What a key, or all keys of its kind in the account, were charged since each of these days; the earliest day first. */
function chargedSince(
  { content, usage, clock }: Pick<OwnerServices, 'content' | 'usage' | 'clock'>,
  { account, accountId, kind }: Pick<Caller, 'account' | 'accountId' | 'kind'>,
  key: KeyRow | undefined,
  days: readonly number[],
): Promise<NanoUsd[]> {
  const of = key === undefined ? { kind } : { keys: [key] }
  const level = levelOf({ key: key !== undefined, model: false, kind: key === undefined })
  return usage.readUpToDate(account, async () => {
    const whole = await listWhole(content, { account: accountId, level, ...of })
    const [parts = []] = await usedBetween(content, [whole], [...days, clock.now() + DAY_MS])
    return days.map((_, first) =>
      parts.slice(first).reduce((sum, { wallet_nano, plan_nano }) => sum + wallet_nano + plan_nano, 0n),
    ) as NanoUsd[]
  })
}
