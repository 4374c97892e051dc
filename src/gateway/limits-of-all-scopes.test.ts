import { randomInt } from 'node:crypto'
import { expect, it } from 'vitest'
import { callerOf, PEOPLE, type Person } from '../../test/fixtures/gateway/limited-people.ts'
import { createNaiveLimits, type NaiveLimits, type NaiveTurn } from '../../test/fixtures/gateway/naive-limits.ts'
import { randomFrom } from '../../test/fixtures/lib/seeded-random.ts'
import { createLedgerState, type LedgerState } from '../ledger/state/state.ts'
import {
  checkLimits,
  dropRecoveredRateLimits,
  type LimitRefusal,
  releaseLimits,
  takeLimits,
} from '../ledger/state/turn-limits.ts'
import { limitsForTurn } from '../limits/limits.ts'
import type { AppliedLimit, LimitScope, RateLimits } from '../model/caller.ts'
import { rateLimitProblem } from './refusals.ts'

/** A share of the 50,000 that LIMIT_SCHEDULES=50000 plays; LIMIT_SEED plays one again. */
const SCHEDULES = Number(process.env.LIMIT_SCHEDULES ?? 500)
const SEED = Number(process.env.LIMIT_SEED ?? randomInt(2 ** 31))
const STEPS = 40
const SECOND = 1_000_000
/** What a hundredth of a microsecond lets pass is drift of doubles to the books, and refused by whole numbers. */
const EDGE_MICROS = 0.02

type Random = (below: number) => number
type Tally = Record<string, number>

const count = (tally: Tally, what: string) => {
  tally[what] = (tally[what] ?? 0) + 1
}

it('limits of every scope and kind agree with whole numbers, whatever comes', { timeout: 3_600_000 }, () => {
  const tally: Tally = {}
  for (let schedule = 0; schedule < SCHEDULES; schedule++) {
    try {
      playSchedule(randomFrom(SEED + schedule), tally)
    } catch (error) {
      throw new Error(`LIMIT_SEED=${SEED + schedule} LIMIT_SCHEDULES=1`, { cause: error })
    }
  }
  console.info(`limits: seed ${SEED}, ${SCHEDULES} schedules, ${JSON.stringify(tally)}`)
  if (SCHEDULES < 1000) return
  for (const scope of ['key', 'account', 'account-model', 'model']) {
    for (const kind of ['requests', 'tokens', 'concurrent']) {
      expect(tally[`${scope} ${kind}`], `${scope} ${kind}`).toBeGreaterThan(100)
    }
  }
  for (const what of ['too large', 'debt', 'refund', 'forgotten', 'early', 'on time', 'several']) {
    expect(tally[what], what).toBeGreaterThan(100)
  }
})

function playSchedule(random: Random, tally: Tally): void {
  const configured = { key: rates(random), account: rates(random), accountModel: rates(random), model: rates(random) }
  const people = PEOPLE.map((person) => ({ person, caller: callerOf(person) }))
  const naive = createNaiveLimits((scope, { key }) => naively(scope, configured, PEOPLE[key - 1]!))
  const ledgerState = createLedgerState({ receipt: 1, transfer: 1, bucket: 1, subscription: 1 })
  const open: { turn: NaiveTurn; limits: readonly AppliedLimit[] }[] = []
  let now = random(10 * SECOND)
  let retryMicros = SECOND

  const admit = () => {
    const { person, caller } = people[random(people.length)]!
    const turn = {
      key: person.key,
      account: person.account,
      model: random(3) ? 'swift' : 'calm',
      tokens: 1 + random(1200),
    }
    const limits = limitsForTurn(configured, caller, turn)
    const expected = naive.judge(turn, now)
    const refusal = checkLimits(ledgerState, limits, now)
    if (!refusal) {
      expect(expected === 'too-large' || expected.some(({ micros }) => micros > EDGE_MICROS)).toBe(false)
      count(tally, 'admitted')
      naive.start(turn, now)
      expect(naive.mostOver).toBeLessThan(EDGE_MICROS)
      takeLimits(ledgerState, limits, now)
      open.push({ turn, limits })
      return
    }
    if (refusal.kind === 'limit-too-small' || expected === 'too-large') {
      expect([refusal.kind, expected]).toEqual(['limit-too-small', 'too-large'])
      return count(tally, 'too large')
    }
    count(tally, `${refusal.limit.scope} ${refusal.limit.kind}`)
    if (expected.length > 1) count(tally, 'several')
    const seconds = secondsOf(refusal)
    const longest = Math.max(...expected.map(({ micros }) => micros))
    const named = expected.find(({ scope, kind }) => scope === refusal.limit.scope && kind === refusal.limit.kind)
    expect(longest - (named?.micros ?? 0)).toBeLessThanOrEqual(1)
    expect(seconds).toBeLessThanOrEqual(Math.ceil(longest / SECOND))
    expect(seconds).toBeGreaterThanOrEqual(Math.ceil((longest - EDGE_MICROS) / SECOND))
    keepsItsWord({ ledgerState, limits, refusal, seconds, now, tally })
    retryMicros = seconds * SECOND
  }

  const end = () => {
    const [ended] = open.splice(random(open.length), 1)
    if (!ended) return
    const used = random(4) ? random(ended.turn.tokens + 1) : random(5000)
    count(tally, used > ended.turn.tokens ? 'debt' : 'refund')
    releaseLimits(ledgerState, ended.limits, used, now)
    naive.end(ended.turn, used, now)
  }

  const wait = () => {
    const waits = [random(10), random(SECOND), random(30 * SECOND), retryMicros, retryMicros - SECOND]
    now += waits[random(waits.length)]!
  }

  const sweep = () => {
    const before = ledgerState.rateLimits.size
    dropRecoveredRateLimits(ledgerState, now)
    if (ledgerState.rateLimits.size < before) count(tally, 'forgotten')
  }

  const acts = [admit, admit, admit, admit, end, end, wait, wait, sweep]
  for (let step = 0; step < STEPS; step++) acts[random(acts.length)]!()
}

interface Promised {
  readonly ledgerState: LedgerState
  readonly limits: readonly AppliedLimit[]
  readonly refusal: LimitRefusal
  readonly seconds: number
  readonly now: number
  readonly tally: Tally
}

/** Without other requests, it is refused a second before the time it was told, and let through at that time. */
function keepsItsWord({ ledgerState, limits, refusal, seconds, now, tally }: Promised): void {
  // When a place is free depends on those who have it.
  const rated = limits.filter(({ kind }) => kind !== 'concurrent')
  const refusalAt = (nowMicros: number) => checkLimits(ledgerState, rated, nowMicros)?.kind
  if (refusal.limit.kind !== 'concurrent') {
    expect(refusalAt(now + (seconds - 1) * SECOND)).toBe('limited')
    count(tally, 'early')
  }
  expect(refusalAt(now + seconds * SECOND)).toBeUndefined()
  count(tally, 'on time')
}

function secondsOf(refusal: LimitRefusal): number {
  const { message, retryAfterSeconds } = rateLimitProblem(refusal)
  expect(message.endsWith(`try again in ${retryAfterSeconds}s.`)).toBe(true)
  return retryAfterSeconds ?? 0
}

/** Each kind is limited in half of the schedules; some rates divide a minute and most do not. */
function rates(random: Random): RateLimits {
  return {
    ...(random(2) && { requestsPerMinute: 1 + random(random(2) ? 100 : 10_000), requestsBurst: 1 + random(8) }),
    ...(random(2) && { tokensPerMinute: 100 + random(100_000), tokensBurst: 1000 + random(4000) }),
    ...(random(2) && { concurrent: 1 + random(4) }),
  }
}

interface Configured {
  readonly key: RateLimits
  readonly account: RateLimits
  readonly accountModel: RateLimits
  readonly model: RateLimits
}

function naively(scope: LimitScope, configured: Configured, { ownRequests }: Person): NaiveLimits {
  const { requestsPerMinute, requestsBurst, tokensPerMinute, tokensBurst, concurrent } =
    configured[scope === 'account-model' ? 'accountModel' : scope]
  const own = scope === 'key' ? ownRequests : undefined
  return {
    ...(requestsPerMinute && { requests: { perMinute: requestsPerMinute, burst: requestsBurst ?? 0 } }),
    ...(own && { requests: { perMinute: own, burst: own } }),
    ...(tokensPerMinute && { tokens: { perMinute: tokensPerMinute, burst: tokensBurst ?? 0 } }),
    ...(concurrent && { concurrent }),
  }
}
