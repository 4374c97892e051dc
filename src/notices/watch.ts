import { findAccountByRow } from '../db/accounts.ts'
import { findSubscription, listLiveBuckets } from '../db/allowances.ts'
import {
  findCapHolder,
  findLastAccount,
  findLastLaneNotice,
  findLastTopUp,
  findLowBalance,
  forgetNotices,
  listAccountsToExamine,
  listEndedPlans,
  listExpiringKeys,
  listNearlyUsedCounters,
  listShortfalls,
  listTold,
} from '../db/notices.ts'
import type { LedgerDb } from '../db/tables.ts'
import { measureOf, periodAt, readCapSubject, readMark } from '../model/allowance.ts'
import { formatUsd } from '../model/money.ts'
import { type Occurrence, type TellServices, tell } from './tell.ts'

/** Accounts with news that have not been looked at yet. Beyond, all accounts are looked at. */
const NOTED_MAX = 10_000
/** Accounts in one query. */
const ACCOUNTS_AT_ONCE = 500
/** Rows of each kind that one sweep looks at. */
const ROWS_MAX = 500

const DAY_MS = 86_400_000
/** A key is told about this long before its end, if it was made for more than twice as long. */
const EXPIRY_NOTICES_MS = [7 * DAY_MS, DAY_MS] as const
/** What is older is no news, e.g. after an upgrade. */
const ENDED_MS = 7 * DAY_MS
const SHORTFALL_MS = DAY_MS

const DELIVERIES_KEPT_MS = 60 * DAY_MS
const NOTICES_KEPT_MS = 400 * DAY_MS

export type NoticeWatch = ReturnType<typeof createNoticeWatch>

/**
 * Finds in the ledger, after its commits, what is to be told. `note` is called for each account whose money has moved; a look at
 * all accounts finds what a process that died had noted. A notice that is found twice is sent once.
 */
export function createNoticeWatch(services: TellServices) {
  const { db, clock } = services
  let noted = new Set<number>()
  let isAllDue = false

  const examine = async (account: number): Promise<void> => {
    for (const occurrence of await examineAccount(db, account, clock.now())) await tell(services, occurrence)
  }
  const examineAll = async (): Promise<void> => {
    const last = await findLastAccount(db)
    for (let after = 0; after < last; after += ACCOUNTS_AT_ONCE) {
      const range = { after, upTo: after + ACCOUNTS_AT_ONCE, now: clock.now() }
      for (const { account } of await listAccountsToExamine(db, range)) await examine(account)
    }
  }
  return {
    note(account: number): void {
      if (noted.size < NOTED_MAX) noted.add(account)
      else isAllDue = true
    },
    /** Looks at the accounts that were noted. */
    async examineNoted(): Promise<void> {
      const accounts = noted
      noted = new Set()
      if (isAllDue) {
        isAllDue = false
        return examineAll()
      }
      for (const account of accounts) {
        try {
          await examine(account)
          accounts.delete(account)
        } catch (error) {
          // The next look has them.
          for (const each of accounts) this.note(each)
          throw error
        }
      }
    },
    examineAll,
    /** What comes by time, and not by money that moves. */
    async sweep(): Promise<void> {
      const now = clock.now()
      for (const occurrence of await findTimely(services, now)) await tell(services, occurrence)
    },
    forget: (): Promise<void> =>
      forgetNotices(services.file, {
        deliveriesBefore: clock.now() - DELIVERIES_KEPT_MS,
        noticesBefore: clock.now() - NOTICES_KEPT_MS,
      }),
    tell: (occurrence: Occurrence): Promise<boolean> => tell(services, occurrence),
  }
}

const iso = (ms: number): string => new Date(ms).toISOString()

async function findTimely({ db }: TellServices, now: number): Promise<Occurrence[]> {
  const keys = await listExpiringKeys(db, { from: now, to: now + EXPIRY_NOTICES_MS[0], limit: ROWS_MAX })
  const ended = await listEndedPlans(db, { from: now - ENDED_MS, to: now, limit: ROWS_MAX })
  const shortfalls = await listShortfalls(db, now - SHORTFALL_MS, ROWS_MAX)
  return [
    ...keys.flatMap(({ id, name, account, person, expires_at, created_at }): Occurrence[] => {
      const lifetime = expires_at! - created_at
      const before = EXPIRY_NOTICES_MS.find((ms) => lifetime > 2 * ms)
      if (before === undefined || expires_at! - now > before) return []
      return [
        {
          ...{ once: `key:${id}:${expires_at}`, event: 'key.expiring', account, person },
          facts: { key: id, name, expires_at: iso(expires_at!) },
        },
      ]
    }),
    ...ended.map(
      ({ row, account, plan, ends_at }): Occurrence => ({
        ...{ once: `plan-ended:${account}:${row}:${ends_at}`, event: 'plan.ended', account, person: null },
        facts: { plan, at: iso(ends_at) },
      }),
    ),
    ...shortfalls.map(
      ({ request_id, account_id, account, shortfall_nano, closed_at }): Occurrence => ({
        once: `shortfall:${account}:${Math.floor(closed_at / DAY_MS)}`,
        ...{ event: 'shortfall.charged', account: null, person: null },
        facts: { account: account_id, request: request_id, amount: formatUsd(shortfall_nano), at: iso(closed_at) },
      }),
    ),
  ]
}

/** A lane whose circuit has been open for longer is told as down. */
const LANE_DOWN_MS = 600_000

/** A process that ends while a lane is down never tells that it is back. A later outage is told all the same. */
const LANE_DOWN_AGAIN_MS = 6 * 3_600_000

interface LaneState {
  /** When the circuit opened, in microseconds. */
  readonly since: number
  readonly reason: string
  isTold: boolean
}

interface LaneWatchServices {
  readonly services: TellServices
  readonly nowMicros: () => number
  /** The lanes whose circuit is open, or not proven to be closed. */
  readonly listOpen: () => readonly { readonly lane: string; readonly reason: string }[]
}

/**
 * Tells of lanes that stay down, and when they are back. With several nodes, each sees its own calls: a lane is down once one of
 * them says so, and back once that one sees it work again.
 */
export function createLaneWatch({ services, nowMicros, listOpen }: LaneWatchServices) {
  const down = new Map<string, LaneState>()
  const tellLane = async (lane: string, event: 'lane.down' | 'lane.up', facts: Occurrence['facts']) => {
    const last = await findLastLaneNotice(services.db, lane)
    const isOld = event === 'lane.down' && last !== undefined && services.clock.now() - last.at > LANE_DOWN_AGAIN_MS
    if ((last?.event ?? 'lane.up') === event && !isOld) return
    const number = last === undefined ? 1 : Number(last.once.slice(-NUMBER_DIGITS)) + 1
    const once = `lane:${lane}:${String(number).padStart(NUMBER_DIGITS, '0')}`
    await tell(services, { once, event, account: null, person: null, facts: { lane, ...facts } })
  }
  return {
    async look(): Promise<void> {
      const open = new Map(listOpen().map(({ lane, reason }) => [lane, reason]))
      for (const [lane, reason] of open)
        if (!down.has(lane)) down.set(lane, { since: nowMicros(), reason, isTold: false })
      for (const [lane, state] of down) {
        const downMs = Math.round((nowMicros() - state.since) / 1000)
        if (!open.has(lane)) {
          if (state.isTold) await tellLane(lane, 'lane.up', { down_seconds: Math.round(downMs / 1000) })
          down.delete(lane)
        } else if (!state.isTold && downMs >= LANE_DOWN_MS) {
          await tellLane(lane, 'lane.down', { reason: state.reason, minutes: Math.round(downMs / 60_000) })
          state.isTold = true
        }
      }
    },
  }
}

const NUMBER_DIGITS = 10

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
async function examineAccount(db: LedgerDb, account: number, now: number): Promise<Occurrence[]> {
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
