import { findAccountByRow } from '../db/accounts.ts'
import { findSubscription, listLiveBuckets } from '../db/allowances.ts'
import { findCapHolder, findLastTopUp, findLowBalance, listNearlyUsedCounters, listTold } from '../db/notices.ts'
import type { LedgerDb } from '../db/tables.ts'
import { measureOf, periodAt, readCapSubject, readMark } from '../model/allowance.ts'
import { formatUsd } from '../model/money.ts'
import type { Occurrence } from './tell.ts'

/** Percentages of a limit that are told, the highest first. */
const PERCENTS = [100, 95, 80] as const

/**
 * Requests stop before a limit is used to the last unit, because the next one no longer fits. So the last half percent counts
 * as all of it.
 */
const isReached = (used: bigint, limit: bigint, percent: (typeof PERCENTS)[number]): boolean =>
  percent === 100 ? used * 200n >= limit * 199n : used * 100n >= limit * BigInt(percent)

/** A plan that was renewed this long ago is not news any more, e.g. after an upgrade. */
const RENEWED_MS = 86_400_000

/** What is to be told about an account as its ledger stands now. Most of it may have been told before. */
export async function examineAccount(db: LedgerDb, account: number, now: number): Promise<Occurrence[]> {
  const [low, windows, caps, renewal] = await Promise.all([
    findLowBalanceNotice(db, account),
    findUsedWindows(db, account, now),
    findUsedCaps(db, account, now),
    findRenewal(db, account, now),
  ])
  return [...low, ...windows, ...caps, ...renewal]
}

/** Told once after each top-up: the name has the last credit that brought the wallet up to the threshold. */
async function findLowBalanceNotice(db: LedgerDb, account: number): Promise<Occurrence[]> {
  const threshold = await findLowBalance(db, account)
  if (threshold === null) return []
  const wallet = (await listLiveBuckets(db, account)).find(({ kind }) => kind === 'wallet')
  if (wallet === undefined || wallet.posted_nano >= threshold) return []
  const toppedUp = await findLastTopUp(db, account, threshold)
  return [
    {
      once: `balance:${account}:${toppedUp}:${threshold}`,
      event: 'balance.low',
      account,
      person: null,
      facts: { balance: formatUsd(wallet.posted_nano), threshold: formatUsd(threshold) },
    },
  ]
}

interface Used {
  /** The account, what is used and its period. */
  readonly name: string
  readonly used: bigint
  readonly limit: bigint
}

/** The highest percentage that was reached, unless this one or a higher one was told in the period. */
async function findNews(db: LedgerDb, { name, used, limit }: Used) {
  const reached = PERCENTS.find((percent) => isReached(used, limit, percent))
  if (limit <= 0n || reached === undefined) return undefined
  const onceOf = (percent: number) => `cap:${name}:${percent}`
  const told = await listTold(db, PERCENTS.filter((percent) => percent >= reached).map(onceOf))
  return told.size > 0 ? undefined : { once: onceOf(reached), percent: reached }
}

const isoDay = (ms: number): string => new Date(ms).toISOString()

async function findUsedWindows(db: LedgerDb, account: number, now: number): Promise<Occurrence[]> {
  const found: Occurrence[] = []
  for (const each of await listLiveBuckets(db, account)) {
    const { kind, subject, period_start: start, period_end: end, granted_nano: granted, posted_nano: posted } = each
    if (kind !== 'window' || start === null || end === null || start > now || end <= now) continue
    const news = await findNews(db, { name: `${account}:${subject}:${start}`, used: granted - posted, limit: granted })
    if (news === undefined) continue
    const plan = (await findSubscription(db, account))?.plan ?? ''
    found.push({
      ...{ once: news.once, event: 'cap.reached', account, person: null },
      facts: {
        ...{ percent: news.percent, holder: 'plan', name: plan, cap: subject.slice('window:'.length) },
        ...{ used: formatUsd(granted - posted), limit: formatUsd(granted), ends_at: isoDay(end) },
      },
    })
  }
  return found
}

async function findUsedCaps(db: LedgerDb, account: number, now: number): Promise<Occurrence[]> {
  const found: Occurrence[] = []
  for (const { subject, period_start, period_end, bound_nano, spent_nano } of await listNearlyUsedCounters(
    db,
    account,
    now,
  )) {
    const news = await findNews(db, {
      ...{ name: `${account}:${subject}:${period_start}`, used: spent_nano, limit: bound_nano },
    })
    if (news === undefined) continue
    const { key, mark } = readCapSubject(subject)
    const { name: cap, holder, row = key ?? 0 } = readMark(mark)
    // The agent of a run reads its budget itself.
    if (holder === 'run') continue
    const owner = await findCapHolder(db, holder, row)
    if (owner === undefined) continue
    const format = (amount: bigint) =>
      measureOf({ unit: 'cap', name: cap }) === 'usd' ? formatUsd(amount) : amount.toString()
    found.push({
      ...{ once: news.once, event: 'cap.reached', account, person: owner.person },
      facts: {
        ...{ percent: news.percent, holder, id: owner.id, name: owner.name, cap },
        ...{ used: format(spent_nano), limit: format(bound_nano) },
        ...(cap === 'total' ? {} : { ends_at: isoDay(period_end) }),
      },
    })
  }
  return found
}

/** The first day of a further month of a plan. */
async function findRenewal(db: LedgerDb, account: number, now: number): Promise<Occurrence[]> {
  const subscription = await findSubscription(db, account)
  if (subscription === undefined || (subscription.ends_at !== null && subscription.ends_at <= now)) return []
  const { start, end } = periodAt({ kind: 'month', day: 'billing' }, now, subscription.billing_day)
  if (start <= subscription.started_at || now - start > RENEWED_MS) return []
  const once = `plan-renewed:${account}:${subscription.row}:${start}`
  if ((await listTold(db, [once])).size > 0) return []
  const owner = await findAccountByRow(db, account)
  if (owner?.status !== 'active') return []
  return [
    {
      ...{ once, event: 'plan.renewed', account, person: null },
      facts: { plan: subscription.plan, at: isoDay(start), next_at: isoDay(end) },
    },
  ]
}
