import type { NanoUsd } from './money.ts'

/** A dollar of the wallet and a dollar of a plan's allowance are different units: no transfer joins them. */
export type Unit = 'usd' | 'quota'

/** An amount that may be used in each of its periods: a window of a plan, or a cap. */
export interface Allowance {
  /** The name of its counter, e.g. `window:5h`, `cap:17:day` or `cap:team:3:month`, unique per account. */
  readonly subject: string
  readonly unit: 'quota' | 'cap'
  /** `5h`, `week`, `month`; of a cap its name, e.g. `day` or `tokens_day`. */
  readonly name: string
  readonly cycle: Cycle
  /** Of a cap on requests or tokens, how many. */
  readonly amount: NanoUsd
  /** Whose cap it is; undefined for a window. */
  readonly holder?: CapHolder | 'run'
  /** A higher amount of a cap, until just before an end. */
  readonly raised?: { readonly amount: NanoUsd; readonly until: number }
}

/** How an allowance renews: days, weeks, months and quarters at 00:00 UTC. */
export type Cycle =
  /** Starts with the first use after the last one has ended. */
  | { readonly kind: 'anchored'; readonly ms: number }
  | { readonly kind: 'day' }
  /** From Monday. */
  | { readonly kind: 'week' }
  /** From the first of January, April, July and October. */
  | { readonly kind: 'quarter' }
  /** Never renews. */
  | { readonly kind: 'ever' }
  /** Never renews either, and is not needed after its end. */
  | { readonly kind: 'once'; readonly end: number }
  /** From this day of the month, or from the last one of a shorter month. */
  | { readonly kind: 'month'; readonly day: number | 'billing' }

/** From `start` on, until just before `end`. */
export interface Period {
  readonly start: number
  readonly end: number
}

const DAY_MS = 86_400_000
/** 1970-01-05 was a Monday. */
const FIRST_MONDAY_MS = 4 * DAY_MS

/** The period that holds `at`. `billingDay` is the day of the month on which the subscription began. */
export function periodAt(cycle: Cycle, at: number, billingDay: number): Period {
  switch (cycle.kind) {
    case 'anchored':
      return { start: at, end: at + cycle.ms }
    case 'day':
      return evenPeriod(at, DAY_MS, 0)
    case 'week':
      return evenPeriod(at, 7 * DAY_MS, FIRST_MONDAY_MS)
    case 'month':
      return monthAt(at, cycle.day === 'billing' ? billingDay : cycle.day)
    case 'quarter':
      return quarterAt(at)
    case 'ever':
      return { start: 0, end: EVER_MS }
    case 'once':
      return { start: 0, end: cycle.end }
  }
}

/** The last moment that a date can have. */
export const EVER_MS = 8_640_000_000_000_000

export const dayOfMonth = (at: number): number => new Date(at).getUTCDate()

function evenPeriod(at: number, ms: number, origin: number): Period {
  const start = Math.floor((at - origin) / ms) * ms + origin
  return { start, end: start + ms }
}

/** Computed from `day` itself, so that a short month does not shift the later ones. */
function monthAt(at: number, day: number): Period {
  const date = new Date(at)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  const start = monthStart(year, month, day)
  return at >= start
    ? { start, end: monthStart(year, month + 1, day) }
    : { start: monthStart(year, month - 1, day), end: start }
}

function quarterAt(at: number): Period {
  const date = new Date(at)
  const [year, first] = [date.getUTCFullYear(), date.getUTCMonth() - (date.getUTCMonth() % 3)]
  return { start: monthStart(year, first, 1), end: monthStart(year, first + 3, 1) }
}

function monthStart(year: number, month: number, day: number): number {
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  return Date.UTC(year, month, Math.min(day, lastDay))
}

/** Of a key itself, of a person across all of their keys, or of a team across all of its keys. */
export type CapHolder = 'key' | 'person' | 'team'

/** What a cap counts. */
export type Measure = 'usd' | 'requests' | 'tokens'

interface CapKind {
  readonly cycle: Cycle
  readonly measure: Measure
}

/** The caps that a key, a person or a team may have, in periods of UTC. */
export const CAP_KINDS = {
  day: { measure: 'usd', cycle: { kind: 'day' } },
  week: { measure: 'usd', cycle: { kind: 'week' } },
  month: { measure: 'usd', cycle: { kind: 'month', day: 1 } },
  quarter: { measure: 'usd', cycle: { kind: 'quarter' } },
  total: { measure: 'usd', cycle: { kind: 'ever' } },
  requests_day: { measure: 'requests', cycle: { kind: 'day' } },
  tokens_day: { measure: 'tokens', cycle: { kind: 'day' } },
} as const satisfies Readonly<Record<string, CapKind>>

/** What a run may use from its first request to its end (`model/run.ts`). */
export const RUN_CAPS = { total: 'usd', requests: 'requests', tokens: 'tokens' } as const satisfies Record<
  string,
  Measure
>

export type RunCapName = keyof typeof RUN_CAPS

export type CapName = keyof typeof CAP_KINDS
export const CAP_NAMES = Object.keys(CAP_KINDS) as CapName[]

export const isCapName = (name: string): name is CapName => Object.hasOwn(CAP_KINDS, name)

export function measureOf({ unit, name }: Pick<Allowance, 'unit' | 'name'>): Measure {
  if (unit !== 'cap') return 'usd'
  if (isCapName(name)) return CAP_KINDS[name].measure
  return Object.hasOwn(RUN_CAPS, name) ? RUN_CAPS[name as RunCapName] : 'usd'
}

/** What a cap is now. */
export const amountAt = ({ amount, raised }: Pick<Allowance, 'amount' | 'raised'>, at: number): NanoUsd =>
  raised !== undefined && at < raised.until && raised.amount > amount ? raised.amount : amount

/** A cap as an allowance of the ledger. `row` is that of the key, the person or the team. */
export const capOf = (
  holder: CapHolder,
  row: number,
  name: CapName,
  amount: bigint,
): Allowance & { readonly name: CapName; readonly holder: CapHolder } => ({
  ...{ subject: subjectOfCap(row, holder === 'key' ? name : `${holder}:${row}:${name}`), unit: 'cap', holder, name },
  ...{ cycle: CAP_KINDS[name].cycle, amount: amount as NanoUsd },
})

/** The caps of a key as allowances. */
export const allowancesOfCaps = (
  key: number,
  amounts: Readonly<Partial<Record<CapName, bigint | null | undefined>>>,
): Allowance[] =>
  CAP_NAMES.flatMap((name) => {
    const amount = amounts[name]
    return amount == null ? [] : capOf('key', key, name, amount)
  })

/** How a receipt names the caps that it counts against: `day` for one of its key, `team:3:month` for others. */
export const markOfCap = ({ holder, name, subject }: Pick<Allowance, 'holder' | 'name' | 'subject'>): string =>
  holder === 'key' ? name : subject.slice(PREFIX.length)

const PREFIX = 'cap:'

/** The counter behind the mark of a receipt of this key. */
export const subjectOfCap = (key: number, mark: string): string =>
  mark.includes(':') ? PREFIX + mark : `${PREFIX}${key}:${mark}`

/** The reverse of `subjectOfCap`. `key` is null for caps of people and teams. */
export function readCapSubject(subject: string): { readonly key: number | null; readonly mark: string } {
  const rest = subject.slice(PREFIX.length)
  const colon = rest.indexOf(':')
  const key = Number(rest.slice(0, colon))
  return Number.isInteger(key) ? { key, mark: rest.slice(colon + 1) } : { key: null, mark: rest }
}

/** The name of the cap behind a mark, and its holder. */
export function readMark(mark: string): {
  readonly name: string
  readonly holder: CapHolder | 'run'
  readonly row?: number
} {
  const [holder, row, name] = mark.split(':')
  return name === undefined ? { name: mark, holder: 'key' } : { name, holder: holder as CapHolder, row: Number(row) }
}
