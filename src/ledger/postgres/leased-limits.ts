import { asJson } from '../../db/postgres/pool.ts'
import { isUnavailable } from '../../db/sql-store.ts'
import type { AppliedLimit, LimitStatus } from '../../model/caller.ts'
import { createLedgerState } from '../state/state.ts'
import { checkLimits, type LimitRefusal, limitStatusesOf } from '../state/turn-limits.ts'

/** A slice that is not used up goes back after so long. Within it a slice is for the demand of several turns. */
const GIVE_BACK_MICROS = 1_000_000
/** A slice is for the demand of so long. What the database has refused is not asked for again for so long, unless it said sooner. */
const DEMAND_MICROS = 200_000
/** At most this part of a burst is taken ahead of demand, so that nodes do not take it from each other. */
const BURST_SHARE = 1 / 8

/** All accounts share them, so a row of the database for each would be written by each turn of each node. */
export const isLeasedLimit = ({ scope }: AppliedLimit): boolean => scope === 'model'

/** What a turn has taken from slices. One of the first two is called, and `end` after `admitted`. */
export interface TakenUnits {
  admitted(): void
  /** The turn does not run: the next one may have its units. */
  giveBack(): void
  /** Its places are free, and its reserved tokens are corrected to those it used; undefined: that is not known here. */
  end(tokensUsed: number | undefined): void
}

type TakeOutcome =
  | { readonly kind: 'taken'; readonly units: TakenUnits }
  | LimitRefusal
  | { readonly kind: 'unavailable' }

/**
 * Limits that all nodes share, in slices. A node takes some units from the database (`db/postgres/limit-slices.ts`) in one call, and its
 * turns take them here. The database has taken each unit before, so all nodes together never admit more than the limit allows.
 */
export interface LeasedLimits {
  /** From all of them or from none. */
  take(limits: readonly AppliedLimit[]): Promise<TakeOutcome>
  statuses(limits: readonly AppliedLimit[]): LimitStatus[]
  /** Gives back what this node holds. */
  close(): Promise<void>
}

const UNAVAILABLE: TakeOutcome = { kind: 'unavailable' }

/** What this node has of one limit under its lease. */
interface Slice {
  /** As the newest turn had it: a changed configuration counts from the next slice on. */
  limit: AppliedLimit
  /** For the next turns. Below zero when ended turns used more than they reserved: settled with the next call. */
  units: number
  /** Of turns on which the database has not decided yet, and the places of running turns. */
  inUse: number
  /** Reserved and not used by ended turns. It comes back to all nodes with the next call. */
  unused: number
  /** What the database takes this node to hold. */
  recorded: number
  /** The state in the database at the last call. */
  reachedAt: number
  /** Places of other nodes. */
  elsewhere: number
  answeredAtMicros: number
  /** Turns that wait for a call. The others stand in line behind them. */
  waiting: number
  readonly demand: Demand
}

interface SliceAnswer {
  readonly granted: number
  readonly reachedAt: number
  readonly elsewhere: number
}

interface SlicesAnswer {
  readonly ticks: number
  readonly slices: readonly SliceAnswer[]
}

interface Waiter {
  readonly limits: readonly AppliedLimit[]
  readonly slices: readonly Slice[]
  resolve(outcome: TakeOutcome): void
  reject(error: unknown): void
}

/** One slice in a call, and what the database needs to know of it. */
interface AskedSlice {
  readonly slice: Slice
  readonly subject: string
  readonly kind: AppliedLimit['kind']
  readonly limit: number
  readonly burst: number
  readonly held: number
  readonly back: number
  readonly unused: number
  readonly wanted: number
  readonly least: number
}

interface LeasedLimitsOptions {
  call<Result>(call: string, values: readonly unknown[]): Promise<Result>
  /** The run of this process in the database. Its slices end with its lease. */
  readonly node: () => number
  readonly nowMicros: () => number
  onTrouble(error: unknown): void
}

export function createLeasedLimits({ call, node, nowMicros, onTrouble }: LeasedLimitsOptions): LeasedLimits {
  let holder: number | undefined
  let slices = new Map<string, Slice>()
  let waiters: Waiter[] = []
  let running: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  /** From this node's clock to the database's. */
  let aheadMicros = 0
  let calls = 0
  let isClosing = false

  const ownSlices = (): Map<string, Slice> => {
    if (holder !== node()) {
      holder = node()
      slices = new Map()
    }
    return slices
  }
  const knownSlice = (limit: AppliedLimit): Slice => ownSlices().get(limit.subject) ?? createSlice(limit, nowMicros)
  const sliceOf = (limit: AppliedLimit): Slice => {
    const slice = knownSlice(limit)
    slice.limit = limit
    slices.set(limit.subject, slice)
    return slice
  }
  const isDue = (slice: Slice) => isUnsettled(slice) && (isClosing || nowMicros() >= dueAtMicros(slice))
  const isAnyDue = (): boolean => {
    for (const slice of ownSlices().values()) if (isDue(slice)) return true
    return false
  }

  /** One call for all turns that wait, and for what has been in hand too long. */
  const runCall = async (): Promise<void> => {
    const round = waiters
    waiters = []
    const held = ownSlices()
    const by = holder
    const asked = [...held.values()].flatMap((slice) => askFor(slice, round, isDue(slice)))
    let outcome: TakeOutcome | undefined
    try {
      if (asked.length > 0) {
        const answer = await call<SlicesAnswer | null>('take_slices($1, $2, $3)', [wordsOf(asked), by, ++calls])
        if (answer !== null) learn(asked, answer)
        if (answer === null || by !== node()) outcome = UNAVAILABLE
      }
    } catch (error) {
      for (const { slice, unused } of asked) {
        slice.units += Math.min(unused, 0)
        slice.answeredAtMicros = nowMicros()
      }
      if (!isUnavailable(error)) {
        if (round.length === 0) onTrouble(error)
        for (const waiter of leave(round)) waiter.reject(error)
      }
      outcome = UNAVAILABLE
    }
    for (const waiter of leave(round)) waiter.resolve(outcome ?? takeOrRefuse(waiter))
  }
  const learn = (asked: readonly AskedSlice[], { ticks, slices: answers }: SlicesAnswer) => {
    const now = nowMicros()
    aheadMicros = ticks - now
    for (const [index, { slice, held }] of asked.entries()) {
      const { granted, reachedAt, elsewhere } = answers[index]!
      slice.units += granted
      slice.recorded = held + granted
      slice.reachedAt = reachedAt
      slice.elsewhere = elsewhere
      slice.answeredAtMicros = now
    }
  }
  const takeOrRefuse = ({ limits, slices: from }: Waiter): TakeOutcome => {
    // This process has lost its lease, and these slices with it.
    if (from.some((slice) => slices.get(slice.limit.subject) !== slice)) return UNAVAILABLE
    const refusal = () => refusalBy(limits, from, nowMicros() + aheadMicros)
    return takeFrom(limits, from, arm) ?? refusal() ?? { kind: 'limited', limit: limits[0]!, retryAfterMs: 1 }
  }

  /** By what the database has just said, so that it is not asked again by each turn that it would refuse. */
  const knownRefusal = (limits: readonly AppliedLimit[], from: readonly Slice[]): LimitRefusal | undefined => {
    const now = nowMicros()
    const isFresh = ({ answeredAtMicros, units, unused, limit: { cost } }: Slice) =>
      now - answeredAtMicros < DEMAND_MICROS && units < cost && units + unused < cost
    const fresh = limits.filter((_, index) => isFresh(from[index]!))
    return fresh.length === 0 ? undefined : refusalBy(fresh, fresh.map(knownSlice), now + aheadMicros)
  }

  /** Turns of the same tick share a call, and those that come during a call share the next. */
  const start = (): void => {
    running ??= new Promise<void>((resolve) => setImmediate(resolve)).then(async () => {
      do await runCall()
      while (waiters.length > 0)
      running = undefined
      arm()
    })
  }
  const arm = (): void => {
    if (timer !== undefined || isClosing || ![...slices.values()].some(isUnsettled)) return
    timer = setTimeout(() => {
      timer = undefined
      if (isAnyDue()) start()
      else arm()
    }, DEMAND_MICROS / 1000)
    timer.unref()
  }

  return {
    take(limits) {
      if (isAnyDue()) start()
      const tooSmall = limits.find(({ kind, cost, burst }) => kind !== 'concurrent' && cost > burst)
      if (tooSmall) return Promise.resolve({ kind: 'limit-too-small', limit: tooSmall })
      const from = limits.map(sliceOf)
      if (from.every(({ waiting }) => waiting === 0)) {
        const taken = takeFrom(limits, from, arm)
        const refusal = taken === undefined ? knownRefusal(limits, from) : undefined
        if (taken !== undefined || refusal !== undefined) return Promise.resolve(taken ?? refusal!)
      }
      return new Promise((resolve, reject) => {
        for (const slice of from) slice.waiting++
        waiters.push({ limits, slices: from, resolve, reject })
        start()
      })
    },
    statuses: (limits) => limitStatusesOf(stateOf(limits, limits.map(knownSlice)), limits, nowMicros() + aheadMicros),
    async close() {
      isClosing = true
      clearTimeout(timer)
      await running
      if (isAnyDue()) await runCall()
    },
  }
}

const createSlice = (limit: AppliedLimit, nowMicros: () => number): Slice => ({
  ...{ limit, units: 0, inUse: 0, unused: 0, recorded: 0, reachedAt: 0, elsewhere: 0, waiting: 0 },
  answeredAtMicros: -Infinity,
  demand: createDemand(nowMicros),
})

/** The database does not know yet what this node has of it, or could have some of it back. */
const isUnsettled = ({ units, unused, inUse, recorded }: Slice) => units !== 0 || unused !== 0 || inUse !== recorded

/** Sooner when the database knows nothing yet of much that could be earned back. */
function dueAtMicros({ answeredAtMicros, recorded, units, inUse, unused, limit }: Slice): number {
  const unknown = recorded - units - inUse + unused
  const isMuch = units <= 0 || unknown > limit.burst * BURST_SHARE
  return answeredAtMicros + (isMuch ? DEMAND_MICROS : GIVE_BACK_MICROS)
}

/** The waiters of a round stand in no line any more. */
function leave(round: Waiter[]): Waiter[] {
  const left = round.splice(0)
  for (const { slices } of left) for (const slice of slices) slice.waiting--
  return left
}

/** Undefined: some of it is not in hand. */
function takeFrom(
  limits: readonly AppliedLimit[],
  slices: readonly Slice[],
  onChange: () => void,
): Extract<TakeOutcome, { kind: 'taken' }> | undefined {
  if (limits.some(({ cost }, index) => slices[index]!.units < cost)) return undefined
  const change = (apply: (slice: Slice, limit: AppliedLimit) => void) => {
    for (const [index, limit] of limits.entries()) apply(slices[index]!, limit)
    onChange()
  }
  const release = (slice: Slice, cost: number) => {
    slice.inUse -= cost
    slice.units += cost
  }
  change((slice, { cost }) => release(slice, -cost))
  const units: TakenUnits = {
    admitted: () =>
      change((slice, { kind, cost }) => {
        slice.demand.add(cost)
        if (kind !== 'concurrent') slice.inUse -= cost
      }),
    giveBack: () => change((slice, { cost }) => release(slice, cost)),
    end: (tokensUsed) =>
      change((slice, { kind, cost }) => {
        if (kind === 'concurrent') release(slice, cost)
        if (kind !== 'tokens' || tokensUsed === undefined) return
        if (tokensUsed > cost) slice.units -= tokensUsed - cost
        else slice.unused += cost - tokensUsed
      }),
  }
  return { kind: 'taken', units }
}

/** What of this slice goes into a call; nothing if it has enough for the turns that wait. */
function askFor(slice: Slice, round: readonly Waiter[], isDue: boolean): AskedSlice[] {
  const waiting = slice.waiting > 0 ? round : []
  const costs = waiting
    .flatMap((waiter) => waiter.limits.filter((_, index) => waiter.slices[index] === slice))
    .map(({ cost }) => cost)
  const spare = Math.max(slice.units, 0)
  const missing = costs.reduce((sum, cost) => sum + cost, 0) - spare
  if (costs.length === 0 ? !isDue : missing <= 0 && slice.units >= 0) return []
  const { subject, kind, limit, burst } = slice.limit
  const ahead = Math.min(slice.demand.recent(), Math.floor(burst * BURST_SHARE))
  const back = costs.length === 0 ? spare : 0
  const unused = slice.unused + Math.min(slice.units, 0)
  // What is given back or settled is no longer here while the call is on its way: if its answer is lost, it is not used twice.
  slice.units = spare - back
  slice.unused = 0
  return [
    {
      ...{ slice, subject, kind, limit, burst, back, unused },
      held: slice.units + slice.inUse,
      wanted: costs.length === 0 ? 0 : Math.max(missing, ahead),
      least: costs.length === 0 ? 0 : Math.max(Math.min(...costs) - spare, 0),
    },
  ]
}

const wordsOf = (asked: readonly AskedSlice[]): string => asJson(asked.map(({ slice, ...words }) => words))

const refusalBy = (limits: readonly AppliedLimit[], slices: readonly Slice[], databaseMicros: number) =>
  checkLimits(stateOf(limits, slices), limits, databaseMicros)

/** The limits as a turn of this node finds them: what is in its hand, or goes back with its next call, has not been taken from it. */
function stateOf(limits: readonly AppliedLimit[], slices: readonly Slice[]) {
  const ledgerState = createLedgerState({ receipt: 1, transfer: 1, bucket: 1, subscription: 1 })
  for (const [index, { kind, subject, limit }] of limits.entries()) {
    const { reachedAt, units, unused, elsewhere, inUse } = slices[index]!
    if (kind === 'concurrent') ledgerState.running.set(subject, elsewhere + inUse)
    else ledgerState.rateLimits.set(subject, reachedAt - (units + unused) * (MINUTE_MICROS / limit))
  }
  return ledgerState
}

const MINUTE_MICROS = 60_000_000

/** How much turns took in the last time. */
interface Demand {
  add(cost: number): void
  recent(): number
}

function createDemand(nowMicros: () => number): Demand {
  let [since, before, current] = [-Infinity, 0, 0]
  const moveOn = () => {
    const now = nowMicros()
    if (now - since < DEMAND_MICROS) return
    before = now - since < 2 * DEMAND_MICROS ? current : 0
    current = 0
    since = now
  }
  return {
    add(cost) {
      moveOn()
      current += cost
    },
    recent() {
      moveOn()
      return Math.max(before, current)
    },
  }
}
