/** The offset of a zone's clocks from UTC. Nothing here reads the time. */
export interface TimeZone {
  readonly name: string
  /** How far its clocks are ahead of UTC. */
  offsetMs(at: number): number
}

const DAY_MS = 86_400_000
const QUARTER_MS = 900_000
/** No clock is further from UTC, and no skipped day is longer. */
const FAR_MS = 40 * 3_600_000

/** Undefined unless the name is in the IANA list. An offset (`+01:07`) is not, though newer engines accept it. */
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

/** Reads `11/22/2026, GMT+05:45`; UTC is just `GMT`. */
function readOffset(text: string): number {
  const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text)
  if (match === null) throw new Error(`No offset in ${JSON.stringify(text)}`)
  const [, sign, hours = 0, minutes = 0, seconds = 0] = match
  const ms = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000
  return sign === '-' ? -ms : ms
}

/** The calendar day in the zone, as the midnight of that day in UTC. */
export const dayAt = (zone: TimeZone, at: number): number => floorTo(at + zone.offsetMs(at), DAY_MS)

/**
 * The first instant of a day in the zone; `day` is its midnight in UTC. When clocks go forward at midnight that is one o'clock, and
 * a skipped day begins with the next one.
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
