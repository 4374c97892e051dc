import type { LimitKind, LimitScope } from '../model/limit.ts'

/**
 * Limits once more, told naively: each is a bucket that leaks. It counts in whole numbers, in units of which one request or
 * token is sixty million, because then a rate of one a minute leaks one unit a microsecond, and nothing is ever rounded.
 */
const UNITS = 60_000_000

export interface NaiveRate {
  readonly perMinute: number
  readonly burst: number
}

export interface NaiveLimits {
  readonly requests?: NaiveRate
  readonly tokens?: NaiveRate
  readonly concurrent?: number
}

export interface NaiveTurn {
  readonly key: number
  readonly account: number
  readonly model: string
  readonly tokens: number
}

export interface NaiveWait {
  readonly scope: LimitScope
  readonly kind: LimitKind
  readonly micros: number
}

interface Bucket {
  readonly rate: NaiveRate
  level: number
  at: number
  /** In their order. */
  readonly history: Poured[]
}

/** What one turn has poured into a bucket, or what was taken back of it. */
interface Poured {
  readonly bucket: Bucket
  readonly at: number
  /** Below zero: taken back. */
  readonly amount: number
}

type Rules = (scope: LimitScope, turn: NaiveTurn) => NaiveLimits

export function createNaiveLimits(rules: Rules) {
  const buckets = new Map<string, Bucket>()
  const running = new Map<string, number>()
  const tokensOf = new Map<NaiveTurn, readonly Poured[]>()
  const most = { over: 0 }

  const bucketsOf = (turn: NaiveTurn) =>
    SCOPES.flatMap((scope) =>
      (['requests', 'tokens'] as const).flatMap((kind) => {
        const rate = rules(scope, turn)[kind]
        if (!rate) return []
        const name = `${ownerOf(scope, turn)} ${kind}`
        const bucket = buckets.get(name) ?? { rate, level: 0, at: 0, history: [] }
        buckets.set(name, bucket)
        return [{ scope, kind, bucket, cost: kind === 'tokens' ? turn.tokens : 1 }]
      }),
    )

  const placesOf = (turn: NaiveTurn) =>
    SCOPES.flatMap((scope) => {
      const limit = rules(scope, turn).concurrent
      return limit === undefined ? [] : [{ scope, limit, owner: ownerOf(scope, turn) }]
    })

  const countPlaces = (turn: NaiveTurn, by: 1 | -1) => {
    for (const { owner } of placesOf(turn)) running.set(owner, (running.get(owner) ?? 0) + by)
  }

  return {
    /** All that keeps the turn waiting now; `too-large` when no waiting helps. */
    judge(turn: NaiveTurn, now: number): readonly NaiveWait[] | 'too-large' {
      const rates = bucketsOf(turn)
      if (rates.some(({ cost, bucket }) => cost > bucket.rate.burst)) return 'too-large'
      const waits: NaiveWait[] = []
      for (const { scope, kind, bucket, cost } of rates) {
        const over = leaked(bucket, now) + (cost - bucket.rate.burst) * UNITS
        if (over > 0) waits.push({ scope, kind, micros: over / bucket.rate.perMinute })
      }
      for (const { scope, limit, owner } of placesOf(turn)) {
        if ((running.get(owner) ?? 0) >= limit) waits.push({ scope, kind: 'concurrent', micros: 1_000_000 })
      }
      return waits
    },
    start(turn: NaiveTurn, now: number): void {
      const poured: Poured[] = []
      for (const { bucket, kind, cost } of bucketsOf(turn)) {
        const entry = pour(bucket, cost, now)
        if (kind === 'tokens') poured.push(entry)
        most.over = Math.max(most.over, mostOver(bucket, now))
      }
      tokensOf.set(turn, poured)
      countPlaces(turn, 1)
    },
    end(turn: NaiveTurn, used: number, now: number): void {
      for (const poured of tokensOf.get(turn) ?? []) {
        if (used > turn.tokens) pour(poured.bucket, used - turn.tokens, now)
        else takeBack(poured, turn.tokens - used, now)
      }
      tokensOf.delete(turn)
      countPlaces(turn, -1)
    },
    /** By how many microseconds of its rate any limit has taken more than burst + rate × time in any stretch, corrections included. */
    get mostOver() {
      return most.over
    },
  }
}

const SCOPES = ['key', 'account', 'account-model', 'model'] as const satisfies readonly LimitScope[]

function ownerOf(scope: LimitScope, { key, account, model }: NaiveTurn): string {
  if (scope === 'key') return `key ${key}`
  if (scope === 'account') return `account ${account}`
  return scope === 'model' ? `all with ${model}` : `account ${account} with ${model}`
}

const leaked = ({ level, at, rate }: Bucket, now: number): number => Math.max(0, level - rate.perMinute * (now - at))

function pour(bucket: Bucket, amount: number, now: number): Poured {
  bucket.level = leaked(bucket, now) + amount * UNITS
  bucket.at = now
  const poured = { bucket, at: now, amount }
  bucket.history.push(poured)
  return poured
}

/** What was not used comes back at the end of its turn, but a bucket is never emptier than empty. */
function takeBack({ bucket }: Poured, amount: number, now: number): void {
  bucket.level = Math.max(0, leaked(bucket, now) - amount * UNITS)
  bucket.at = now
  bucket.history.push({ bucket, at: now, amount: -amount })
}

/** Over every stretch that ends now: what was let through in it, less what its length has earned and the burst. */
function mostOver({ rate, history }: Bucket, now: number): number {
  let sum = 0
  let most = 0
  for (const { at, amount } of history.toReversed()) {
    sum += amount
    most = Math.max(most, (sum - rate.burst) * UNITS - rate.perMinute * (now - at))
  }
  return most / rate.perMinute
}
