/** How a zone's clocks stand beside UTC. Nothing here reads the time: every question names an instant. */
export interface TimeZone {
  readonly name: string
  /** What its clocks show is this much later than UTC. */
  offsetMs(at: number): number
}

const DAY_MS = 86_400_000
const QUARTER_MS = 900_000
/** No clock is further from UTC, and no day was ever skipped that is not over by then. */
const FAR_MS = 40 * 3_600_000

/** Undefined for what is no name of the IANA list. An offset (`+01:07`) is none, though newer engines would take it. */
export function openTimeZone(name: string): TimeZone | undefined {
  if (!/^[A-Za-z]/.test(name)) return undefined
  let format: Intl.DateTimeFormat
  try {
    format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' })
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
  return { name, offsetMs: (at) => readOffset(format.format(at)) }
}

/** `11/22/2026, GMT+05:45`; UTC itself says no more than `GMT`. */
function readOffset(text: string): number {
  const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text)
  if (match === null) throw new Error(`No offset in ${JSON.stringify(text)}`)
  const [, sign, hours = 0, minutes = 0, seconds = 0] = match
  const ms = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000
  return sign === '-' ? -ms : ms
}

/** The day that its calendars show, as the midnight of that day in UTC. */
export const dayAt = (zone: TimeZone, at: number): number => floorTo(at + zone.offsetMs(at), DAY_MS)

/**
 * The first instant at which the calendars of the zone show this day or a later one; `day` is its midnight in UTC. Where
 * clocks are put forward at midnight that is one o'clock, and a day that a zone has skipped begins with the next one.
 */
export function beginOfDay(zone: TimeZone, day: number): number {
  const before = zone.offsetMs(day - FAR_MS)
  if (before === zone.offsetMs(day + FAR_MS)) return day - before
  for (let at = floorTo(day - FAR_MS, QUARTER_MS); at < day + FAR_MS; at += QUARTER_MS) {
    if (at + zone.offsetMs(at) >= day) return at
  }
  throw new Error(`${zone.name} has no instant for ${new Date(day).toISOString()}`)
}

const floorTo = (value: number, unit: number): number => Math.floor(value / unit) * unit
