import { type NanoUsd, parseUsd } from '../model/money.ts'
import { scrub } from '../telemetry/scrub.ts'
import { type Refused, refused } from './outcome.ts'

/** Stored milliseconds as people and programs read them. */
export const isoTime = (ms: number): string => new Date(ms).toISOString()

export const isoTimeOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms))

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** Beyond this a date cannot be written with four digits of year. */
const EXPIRY_MAX = Date.UTC(9999, 0)

/** `30d`, `12h`, `2027-01-31` or a full ISO time. Undefined for anything else, and for what is not in the future. */
export function parseExpiry(text: string, now: number): number | undefined {
  const at = parseSpan(text, now) ?? parseMoment(text)
  return at !== undefined && at > now && at < EXPIRY_MAX ? at : undefined
}

function parseSpan(text: string, now: number): number | undefined {
  const match = /^(\d{1,6})([mhdw])$/.exec(text)
  return match === null ? undefined : now + Number(match[1]) * UNITS_MS[match[2]!]!
}

/** A date alone means its first moment in UTC. */
function parseMoment(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(text)) return undefined
  const at = Date.parse(text)
  if (Number.isNaN(at)) return undefined
  // V8 takes the 31st of February for the 3rd of March.
  const asDay = new Date(Date.parse(text.slice(0, 10))).toISOString().slice(0, 10)
  return asDay === text.slice(0, 10) ? at : undefined
}

export const unreadableMoment = (text: string, param: 'expires' | 'until' | 'at') =>
  refused(
    'invalid_expiry',
    `${JSON.stringify(text)} is not a time to come: write a date (2027-01-31) or a span (30d, 12h).`,
    { param },
  )

const LENGTH_MAX = 80

/** A name that somebody gave, to be said again in a sentence: people paste a key where its id belongs. */
export const quoted = (name: string): string => JSON.stringify(scrub(name).slice(0, LENGTH_MAX))

/** As e-mails are stored: two spellings of one address are one. */
export const normalizeEmail = (text: string): string => text.trim().toLowerCase()

type ReadAmount = { readonly kind: 'read'; readonly amount: NanoUsd } | Refused

/** Whoever writes more has mistyped. What caps grant is added up over all keys and periods, and a row holds an int64. */
const AMOUNT_MAX = parseUsd('1000000')!

/** Of a code, of a wish, or of a spend cap. Zero is none: a key that may spend nothing is a disabled one. */
export function readAmount(text: string, param: 'amount' | 'caps.day' | 'caps.month' = 'amount'): ReadAmount {
  const amount = parseUsd(text)
  if (amount !== undefined && amount > 0n && amount <= AMOUNT_MAX) return { kind: 'read', amount }
  const [what, orNone] = param === 'amount' ? ['an amount', ''] : ['a spend cap', '; none takes a cap away']
  return refused(
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

/** `read` is one more than fits, so that nobody has to turn a page to find it empty. */
export function cutPage<Row, Name>(
  read: readonly Row[],
  limit: number,
  nameOf: (row: Row) => Name,
): { readonly rows: readonly Row[]; readonly next: Name | null } {
  const rows = read.slice(0, limit)
  return { rows, next: read.length > limit ? nameOf(rows.at(-1)!) : null }
}

/** Where a page ends, as the text that asks for the next one: a number that nobody needs to read. Null: there is none. */
export const writeCursor = (number: number | null): string | null => number?.toString(36) ?? null

/** Undefined for no cursor: the first page. */
export function readCursor(text: string | undefined): number | undefined | Refused {
  if (text === undefined) return undefined
  const number = /^[0-9a-z]{1,11}$/.test(text) ? Number.parseInt(text, 36) : Number.NaN
  return Number.isSafeInteger(number) ? number : noSuchPage()
}

export const noSuchPage = (): Refused =>
  refused('invalid_cursor', '`after` is not the `next` of a page. Leave it out to begin with the first page.', {
    param: 'after',
  })
