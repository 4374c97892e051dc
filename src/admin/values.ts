import type { PageQuery } from '../contract/values.ts'
import { type NanoUsd, parseUsd } from '../model/money.ts'
import { scrub } from '../telemetry/scrub.ts'
import { done, type OperationRefused, type Outcome, refuseOperation } from './outcome.ts'

/** Stored milliseconds as ISO 8601. */
export const isoTime = (ms: number): string => new Date(ms).toISOString()

export const isoTimeOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms))

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** The first moment whose year has five digits. */
const EXPIRY_MAX = Date.UTC(9999, 0)

/** `30d`, `12h`, `2027-01-31` or a full ISO time, if it is in the future. */
export function parseExpiry(text: string, now: number): number | undefined {
  const span = /^(\d{1,6})([mhdw])$/.exec(text)
  const at = span === null ? parseMoment(text) : now + Number(span[1]) * UNITS_MS[span[2]!]!
  return at !== undefined && at > now && at < EXPIRY_MAX ? at : undefined
}

/** A date without a time means its first moment in UTC. */
export function parseMoment(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(text)) return undefined
  const at = Date.parse(text)
  if (Number.isNaN(at)) return undefined
  // V8 parses the 31st of February as the 3rd of March.
  const asDay = new Date(Date.parse(text.slice(0, 10))).toISOString().slice(0, 10)
  return asDay === text.slice(0, 10) ? at : undefined
}

export const unreadableMoment = (text: string, param: 'expires' | 'until' | 'at' | 'from') =>
  refuseOperation(
    'invalid_expiry',
    `${JSON.stringify(text)} is not a time in the future: write a date (2027-01-31) or a span (30d, 12h).`,
    { param },
  )

const LENGTH_MAX = 80

/** A name from the caller, safe to repeat in a message: people paste a key where its id belongs. */
export const quoted = (name: string): string => JSON.stringify(scrub(name).slice(0, LENGTH_MAX))

/** Emails are stored in this form, so that two spellings of one address are equal. */
export const normalizeEmail = (text: string): string => text.trim().toLowerCase()

type ReadAmount = { readonly kind: 'read'; readonly amount: NanoUsd } | OperationRefused

/** Caps are summed over all keys and periods, and a row holds an int64. */
const AMOUNT_MAX = parseUsd('1000000')!

/** The amount of a code, a funding request or a spend cap. Zero is refused: to stop all spending, disable the key. */
export function readAmount(text: string, param: 'amount' | 'to' | `caps.${string}` = 'amount'): ReadAmount {
  const amount = parseUsd(text)
  if (amount !== undefined && amount > 0n && amount <= AMOUNT_MAX) return { kind: 'read', amount }
  const [what, orNone] = param.startsWith('caps.') ? ['a spend cap', '; none removes a cap'] : ['an amount', '']
  return refuseOperation(
    'invalid_amount',
    `${JSON.stringify(text)} is not ${what}: write USD above zero, at most 1000000, with at most 9 decimals, e.g. 10.00${orNone}`,
    { param },
  )
}

export interface Page<Item> {
  readonly items: Item[]
  /** Null at the end of the list. */
  readonly next: string | null
}

/** `read` has one row more than fits, so that no page is empty. */
export function cutPage<Row, Name>(
  read: readonly Row[],
  limit: number,
  nameOf: (row: Row) => Name,
): { readonly rows: readonly Row[]; readonly next: Name | null } {
  const rows = read.slice(0, limit)
  return { rows, next: read.length > limit ? nameOf(rows.at(-1)!) : null }
}

interface NumberedList<Row, Item> {
  /** Where the first page starts: 0 upwards, `NEWEST` downwards. */
  readonly first: number
  readonly read: (start: number, limit: number) => Promise<readonly Row[]>
  readonly numberOf: (row: Row) => number
  readonly view: (row: Row) => Item | Promise<Item>
}

export const NEWEST = Number.MAX_SAFE_INTEGER

/** A page of a list whose rows are numbered. Its cursor is the number of the last row. */
export async function readPage<Row, Item>(
  { after, limit }: PageQuery,
  { first, read, numberOf, view }: NumberedList<Row, Item>,
): Promise<Outcome<Page<Item>>> {
  const start = readCursor(after) ?? first
  if (typeof start !== 'number') return start
  const { rows, next } = cutPage(await read(start, limit + 1), limit, numberOf)
  return done({ items: await Promise.all(rows.map(view)), next: writeCursor(next) })
}

/** The end of a page as an opaque cursor. Null: there is no next page. */
export const writeCursor = (number: number | null): string | null => number?.toString(36) ?? null

/** Undefined means the first page. */
export function readCursor(text: string | undefined): number | undefined | OperationRefused {
  if (text === undefined) return undefined
  const number = /^[0-9a-z]{1,11}$/.test(text) ? Number.parseInt(text, 36) : Number.NaN
  return Number.isSafeInteger(number) ? number : invalidCursor()
}

export const invalidCursor = (): OperationRefused =>
  refuseOperation('invalid_cursor', '`after` is not the `next` of a page. Leave it out to start with the first page.', {
    param: 'after',
  })

/**
 * The first number from 1 up to `end` whose time is a moment or later; `end` if there is none. Numbers and times rise
 * together, so a binary search needs a few dozen index lookups.
 */
export async function findFirstSince(
  moment: number,
  end: number,
  /** The time of the last entry with this number or a lower one. */
  timeOf: (number: number) => Promise<number | undefined>,
): Promise<number> {
  let [low, high] = [1, end]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const at = await timeOf(middle)
    if (at !== undefined && at >= moment) high = middle
    else low = middle + 1
  }
  return low
}

/** About two milliseconds of the thread that also records every settle. */
export const SLICE_REQUESTS = 1000
/** After this many slices a page ends even if it is not full. */
const SLICES = 5

/** Numbers from `from` on, before `before`. */
interface Numbers {
  readonly from: number
  readonly before: number
}

interface SlicedList<Row> extends Numbers {
  readonly limit: number
  readonly numberOf: (row: Row) => number
  /** The number that starts a slice of this many requests before another number; undefined if there are fewer. */
  readonly sliceStart: (slice: { readonly before: number; readonly requests: number }) => Promise<number | undefined>
  /** Newest first. */
  readonly list: (slice: Numbers & { readonly limit: number }) => Promise<readonly Row[]>
}

/**
 * A page of the matching requests of an account, newest first. A sparse filter makes pages short instead of slow: each page
 * searches a bounded number of requests, and `next` continues after them. `next`: the next page starts before this number.
 */
export async function readInSlices<Row>(
  sliced: SlicedList<Row>,
): Promise<{ readonly rows: readonly Row[]; readonly next: number | null }> {
  const { limit, numberOf } = sliced
  const found: Row[] = []
  let before = sliced.before
  for (let slice = 0; slice < SLICES; slice++) {
    const start = await sliced.sliceStart({ before, requests: SLICE_REQUESTS })
    const from = Math.max(start ?? sliced.from, sliced.from)
    found.push(...(await sliced.list({ from, before, limit: limit + 1 - found.length })))
    const firstBehind = found[limit]
    if (firstBehind !== undefined) return { rows: found.slice(0, limit), next: numberOf(firstBehind) + 1 }
    if (from === sliced.from) return { rows: found, next: null }
    before = from
  }
  return { rows: found, next: before }
}
