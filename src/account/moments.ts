import { refused } from './outcome.ts'

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
