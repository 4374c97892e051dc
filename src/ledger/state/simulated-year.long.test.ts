import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createClerk } from '../../../test/fixtures/ledger/state/simulated-account.ts'
import { admitAt, closeOf, endingOf } from '../../../test/fixtures/ledger/state/state.ts'
import { randomFrom } from '../../../test/fixtures/lib/seeded-random.ts'
import { quotaOf } from '../../../test/fixtures/model/allowance.ts'
import { type Allowance, allowancesOfCaps, type Cycle } from '../../model/allowance.ts'
import type { AccountRow, BucketRow, KeyRow, RequestId } from '../../model/ids.ts'
import type { NanoUsd } from '../../model/money.ts'
import { allowanceStatusOf } from './allowances.ts'
import { assignPlan, endPlan, runningSubscription, transferMoney } from './operator-commands.ts'
import { createAccountState, createLedgerState } from './state.ts'
import { closeTurn } from './turns.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const hours = (count: number): Cycle => ({ kind: 'anchored', ms: count * HOUR })
const month: Cycle = { kind: 'month', day: 'billing' }

const PLANS: Readonly<Record<string, readonly Allowance[]>> = {
  small: [quotaOf('5h', hours(5), 300n), quotaOf('7d', hours(168), 1500n), quotaOf('month', month, 4000n)],
  large: [quotaOf('5h', hours(5), 900n), quotaOf('week', { kind: 'week' }, 5000n), quotaOf('month', month, 12_000n)],
  calm: [quotaOf('week', { kind: 'week' }, 2000n), quotaOf('month', month, 6000n)],
  brief: [quotaOf('1h', hours(1), 200n)],
}

// Before the turn of a year whose February has 29 days; each account begins on a day that some month does not have.
const BEGINNINGS = [
  Date.UTC(2027, 11, 31, 23),
  Date.UTC(2027, 11, 29),
  Date.UTC(2027, 11, 30, 12),
  Date.UTC(2028, 0, 1),
]
const END = Date.UTC(2029, 0, 5)
const YEARS = 6

describe('a year of plans, caps and clocks that jump', () => {
  it('adds up to the last unit, overlaps nowhere, expires nothing under a hold, and joins no two units', () => {
    const seed = randomInt(2 ** 31)
    const counts: Record<string, number> = {}
    for (let year = 0; year < YEARS; year++) liveThrough(seed + year, counts)
    console.log(`simulated years: seed ${seed}, ${JSON.stringify(counts)}`)
    for (const name of ['held builder', 'held wallet', 'exhausted', 'exceeds-allowance', 'cap-reached', 'in-flight'])
      expect(counts[name], name).toBeGreaterThan(0)
    for (const name of ['no-subscription', 'plan-changed', 'short', 'changed', 'outlived', 'moved', 'expiries'])
      expect(counts[name], name).toBeGreaterThan(0)
    expect(counts.steps).toBeGreaterThan(10_000)
  }, 120_000)
})

/** One seed, one year of several accounts. */
function liveThrough(seed: number, counts: Record<string, number>): void {
  const next = randomFrom(seed)
  const pick = <Item>(items: readonly Item[]): Item => items[next(items.length)]!
  const count = (name: string, by = 1) => {
    counts[name] = (counts[name] ?? 0) + by
  }
  const accounts = BEGINNINGS.map((_, index) => (index + 1) as AccountRow)
  const ledgerState = createLedgerState({ receipt: 1, transfer: 1, bucket: 1000, subscription: 1 })
  const wallets = new Map(accounts.map((account) => [account as number, { row: 10 + account, posted: 0n }]))
  const clerk = createClerk(wallets)
  for (const account of accounts) {
    const wallet = { row: (10 + account) as BucketRow, posted: 0n, held: 0n }
    ledgerState.accounts.set(account, createAccountState(account, wallet))
  }
  const machine = { time: BEGINNINGS[0]! }
  let latest = 0
  const now = () => {
    latest = Math.max(latest, machine.time)
    return latest
  }
  const caps = new Map(accounts.map((account) => [account, { day: 2500n, month: 60_000n }]))
  const open: { requestId: RequestId; hold: bigint; until: number }[] = []
  let requests = 0

  const credited = new Map(accounts.map((account) => [account, 0n]))
  const spentOnWallet = new Map(accounts.map((account) => [account, 0n]))
  const ownerOfWallet = new Map<RequestId, AccountRow>()

  const allowancesOf = (account: AccountRow, kind: 'wallet' | 'builder') => {
    const plan = runningSubscription(ledgerState.accounts.get(account)!, now())?.plan
    const windows = kind === 'builder' && plan !== undefined ? PLANS[plan]! : []
    return { plan, all: [...windows, ...allowancesOfCaps(account as number as KeyRow, caps.get(account)!)] }
  }

  const admit = (account: AccountRow) => {
    const kind = next(3) === 0 ? ('wallet' as const) : ('builder' as const)
    const { plan, all } = allowancesOf(account, kind)
    const requestId = `req_${++requests}` as RequestId
    const stale = kind === 'builder' && next(40) === 0
    const outcome = admitAt(ledgerState, {
      requestId,
      account,
      key: account as number as KeyRow,
      kind,
      model: 'demo',
      priceVersion: 1,
      terms: { inputPico: 5000n, outputPicoPerToken: 1000n, perRequest: 0n as NanoUsd },
      clientCap: next(30) === 0 ? 1000 : next(160),
      modelCap: 5000,
      chosenCap: { sharePercent: 25, tokensMin: 1024 },
      choices: 1,
      inputEstimate: 1,
      cachedEstimate: 0,
      limits: [],
      allowances: all,
      plan: stale ? 'another' : plan,
      claim: undefined,
      at: now(),
      nowMicros: 0,
    })
    count(outcome.kind === 'held' ? `held ${kind}` : outcome.kind)
    if (outcome.kind === 'exhausted' || outcome.kind === 'cap-reached') {
      expect(outcome.resetsAt).toBeGreaterThan(now())
      expect(outcome.resetsInMs).toBe(outcome.resetsAt - now())
    }
    if (outcome.kind !== 'held') return
    if (kind === 'wallet') ownerOfWallet.set(requestId, account)
    clerk.record(outcome.changes)
    // Most end soon; some outlive the window that they were held in.
    open.push({ requestId, hold: outcome.heldAmount, until: now() + (next(6) === 0 ? next(9 * DAY) : next(HOUR)) })
  }

  const end = (turn: (typeof open)[number]) => {
    open.splice(open.indexOf(turn), 1)
    const cost = next(10) === 0 ? turn.hold + BigInt(next(50)) : BigInt(next(Number(turn.hold) + 1))
    const endedWithHolds = ledgerState.turns
      .get(turn.requestId)!
      .buckets.some((bucket) =>
        [...ledgerState.accounts.values()].some((account) => account.endedWithHolds.has(bucket as never)),
      )
    if (endedWithHolds) count('outlived')
    const ending = endingOf(next(8) === 0 ? undefined : cost)
    const closed = closeTurn(ledgerState, closeOf(turn.requestId, ending, now()))
    if (closed.kind !== 'closed') throw new Error(`${turn.requestId} was not open`)
    const owner = ownerOfWallet.get(turn.requestId)
    if (owner) spentOnWallet.set(owner, spentOnWallet.get(owner)! + closed.charge)
    clerk.record(closed.changes)
  }

  const changePlan = (account: AccountRow) => {
    const at = now()
    const plan = pick(Object.keys(PLANS))
    const endsAt = next(3) === 0 ? at + next(40 * DAY) + 1 : undefined
    const outcome =
      next(4) === 0
        ? endPlan(ledgerState, { account, endsAt: next(2) === 0 ? at : at + next(10 * DAY), at })
        : assignPlan(ledgerState, { account, plan, windows: PLANS[plan]!, endsAt, at })
    count(outcome.kind)
    if (outcome.kind === 'changed') clerk.record(outcome.changes)
  }

  const moveMoney = (account: AccountRow) => {
    const amount = BigInt(next(3000) - 600) as NanoUsd
    const order = { account, kind: 'credit' as const, amount, reason: 'test', ref: `${++requests}`, at: now() }
    const outcome = transferMoney(ledgerState, order)
    if (outcome.kind !== 'transferred') return
    credited.set(account, credited.get(account)! + amount)
    clerk.record(outcome.changes)
  }

  /** To somewhere between a moment and two days later, often to the very edge of a period, sometimes back. */
  const passTime = () => {
    const ends = [...ledgerState.accounts.values()].flatMap(({ periods }) =>
      [...periods.values()].map((one) => one.end),
    )
    const edges = ends.filter((edge) => edge > machine.time && edge < machine.time + 4 * DAY)
    if (next(50) === 0) {
      count('clock set back')
      machine.time -= next(3 * DAY)
    } else if (next(4) === 0 && edges.length > 0) machine.time = pick(edges) + next(3) - 1
    else machine.time += next(10) === 0 ? next(2 * DAY) : next(HOUR / 2)
    for (const turn of open.filter(({ until }) => until <= now())) end(turn)
  }

  /** What a person sees is the sum of the rows that used it. */
  const expectBars = (account: AccountRow) => {
    const state = ledgerState.accounts.get(account)!
    for (const kind of ['wallet', 'builder'] as const) {
      for (const allowance of allowancesOf(account, kind).all) {
        const { granted, posted, held, running, period } = allowanceStatusOf(state, allowance, now())
        const row =
          allowance.unit === 'cap'
            ? clerk.countedIn(account, allowance.name, period)
            : running && clerk.buckets.get(running.row)
        expect(granted - posted).toBe(row?.charged ?? 0n)
        expect(held).toBe(row?.held ?? 0n)
        if (running) expect(running.start <= now() && now() < running.end).toBe(true)
      }
    }
    const { posted } = state.wallet
    expect(posted, 'the wallet is what came in less what wallet keys spent').toBe(
      credited.get(account)! - spentOnWallet.get(account)!,
    )
    expect(clerk.buckets.get(state.wallet.row)).toMatchObject({ posted, held: state.wallet.held })
  }

  let account = accounts[0]!
  try {
    while (now() < END) {
      // Mostly one after the other, so that windows are used up and not only opened.
      if (next(8) === 0) account = pick(accounts.filter((one) => now() >= BEGINNINGS[one - 1]!))
      if (ledgerState.accounts.get(account)!.subscription === undefined) {
        const begun = assignPlan(ledgerState, {
          account,
          plan: 'small',
          windows: PLANS.small!,
          endsAt: undefined,
          at: now(),
        })
        if (begun.kind === 'changed') clerk.record(begun.changes)
      }
      const dice = next(100)
      if (dice < 55) admit(account)
      else if (dice < 92) passTime()
      else if (dice < 94) changePlan(account)
      else if (dice < 95) caps.set(account, { day: BigInt(next(4000) + 1), month: BigInt(next(40_000) + 1) })
      else moveMoney(account)
      expectBars(account)
      count('steps')
    }
    for (const turn of [...open]) end(turn)
    for (const account of accounts) expectBars(account)
    for (const { subject, held } of clerk.buckets.values()) expect(held, subject).toBe(0n)
    count('windows used', clerk.expectNoOverlap())
    for (const [name, number] of Object.entries(clerk.counts)) count(name, number)
  } catch (error) {
    throw new Error(`with seed ${seed}`, { cause: error })
  }
}
