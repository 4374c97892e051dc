import type { z } from 'zod'
import type { window } from '../contract/owner.ts'
import { countByBucket, findPlanClosingTime, type StoredWindow } from '../db/allowances.ts'
import { findSliceStart } from '../db/statement.ts'
import type { LedgerDb } from '../db/tables.ts'
import { isUnused } from '../ledger/state/allowances.ts'
import type { AllowanceStatus } from '../ledger/state/state.ts'
import { formatUsd } from '../model/money.ts'
import { isoTime } from './values.ts'

const SUBJECT = 'window:'

/** What a window is: of which kind, and from when. */
interface NamedWindow {
  readonly subject: string
  readonly start: number
}

/**
 * What a window is asked for by. Its name and its start, which its account sees anyway: the number of its row would tell how
 * many windows there are in all the house.
 */
export const windowId = ({ subject, start }: NamedWindow): string =>
  `${start.toString(36)}.${subject.slice(SUBJECT.length)}`

export function parseWindowId(id: string): NamedWindow | undefined {
  const [, start, name] = /^([0-9a-z]{1,11})\.(.{1,100})$/su.exec(id) ?? []
  if (start === undefined || name === undefined) return undefined
  const at = Number.parseInt(start, 36)
  return Number.isSafeInteger(at) ? { subject: `${SUBJECT}${name}`, start: at } : undefined
}

const windowName = (subject: string): string => subject.slice(SUBJECT.length)

export type WindowStatus = z.output<typeof window>

export const usedOf = ({ entered_nano, posted_nano }: StoredWindow): bigint => entered_nano - posted_nano

/** A window as the books have written it down: one that is over has nothing left, whatever has expired of it. */
export function storedWindow(stored: StoredWindow, requests: number | null): WindowStatus {
  const { subject, period_start: start, period_end: end, posted_nano, held_nano, granted_nano } = stored
  return {
    ...{ name: windowName(subject), opened: true, id: windowId({ subject, start }) },
    ...{ start: isoTime(start), end: isoTime(end), limit: formatUsd(granted_nano), used: formatUsd(usedOf(stored)) },
    ...{ held: formatUsd(held_nano), left: formatUsd(posted_nano - held_nano), requests },
  }
}

/** About two milliseconds of the thread that also records every settle. */
const SLICE_REQUESTS = 1000
/** So many are counted for a page; a window that has more says so by telling none. */
const SLICES = 3

/** A window that is counted for: its bucket, and from when requests can stand on it. */
interface CountedWindow {
  readonly bucket: number
  readonly start: number
}

/**
 * How many requests have held on each window, by its bucket. All are counted in one pass from those that run and the last
 * that ended back, for as long as that is little work: a window that begins before where the pass has come to is not in the
 * answer.
 */
export async function countOnWindows(
  db: LedgerDb,
  account: number,
  windows: readonly CountedWindow[],
): Promise<ReadonlyMap<number, number>> {
  if (windows.length === 0) return new Map()
  const earliest = Math.min(...windows.map(({ start }) => start))
  const counts = new Map<number, number>()
  let reached = Number.NEGATIVE_INFINITY
  for (let [slice, before] = [0, Number.MAX_SAFE_INTEGER]; slice < SLICES; slice++) {
    const from = await findSliceStart(db, account, { kinds: ['builder'], before, requests: SLICE_REQUESTS })
    const found = await countByBucket(db, account, { from: from ?? 0, before, running: slice === 0 })
    for (const [bucket, requests] of found) {
      counts.set(bucket, (counts.get(bucket) ?? 0) + requests)
    }
    reached = from === undefined ? Number.NEGATIVE_INFINITY : ((await findPlanClosingTime(db, account, from)) ?? 0)
    if (from === undefined || reached < earliest) break
    before = from
  }
  const whole = windows.filter(({ start }) => reached < start)
  return new Map(whole.map(({ bucket }) => [bucket, counts.get(bucket) ?? 0]))
}

/** Decimal strings in USD that add up: `used`, `held` by running requests, and `left` make `limit`. */
interface AmountsView {
  readonly limit: string
  readonly used: string
  readonly held: string
  readonly left: string
}

/** A window of a plan. One that nobody has used yet has not opened, and so has no times. */
export interface WindowView extends AmountsView {
  readonly name: string
  readonly opened: boolean
  readonly start: string | null
  readonly end: string | null
}

/** What a key may spend, counted from the start of a day or a month of UTC whether it spends or not. */
export interface CapView extends AmountsView {
  readonly name: string
  readonly start: string
  readonly end: string
}

export function windowView(standing: AllowanceStatus): WindowView {
  const { allowance, period, running } = standing
  const opened = running !== undefined && !isUnused(running)
  return {
    name: allowance.name,
    opened,
    start: opened ? isoTime(period.start) : null,
    end: opened ? isoTime(period.end) : null,
    ...amountsOf(standing),
  }
}

export const capView = (standing: AllowanceStatus): CapView => ({
  name: standing.allowance.name,
  start: isoTime(standing.period.start),
  end: isoTime(standing.period.end),
  ...amountsOf(standing),
})

/** A cap that was lowered below what is spent leaves nothing, not less than nothing. */
function amountsOf({ granted, posted, held }: AllowanceStatus): AmountsView {
  const left = posted > held ? posted - held : 0n
  return { limit: formatUsd(granted), used: formatUsd(granted - posted), held: formatUsd(held), left: formatUsd(left) }
}
