const DAY_MS = 86_400_000

/** Days are text (`2026-11-22`), because a day depends on the time zone. */
export const dayIn = (zone: string, time: number): string => wallClock(zone, time).slice(0, 10)

export const addDays = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10)

/** The first instant of a day in a time zone. If midnight is skipped, the instant after the gap. */
export function dayStart(day: string, zone: string): string {
  const wanted = Date.parse(`${day}T00:00:00Z`)
  // The offset at midnight is one of these, because clocks change by a few hours at most and never twice in two days.
  const offsets = [wanted - DAY_MS, wanted, wanted + DAY_MS].map((time) => offsetOf(zone, time))
  const moments = offsets.map((offset) => wanted - offset).sort((a, b) => a - b)
  const start = moments.find((time) => dayIn(zone, time) === day) ?? moments[0] ?? wanted
  return new Date(start).toISOString()
}

const offsetOf = (zone: string, time: number): number => Date.parse(`${wallClock(zone, time)}Z`) - time

/** The local time as ISO 8601 without an offset. */
function wallClock(zone: string, time: number): string {
  const parts = clockOf(zone).formatToParts(time)
  const of = (type: Intl.DateTimeFormatPartTypes) => parts.find((part) => part.type === type)?.value ?? '00'
  return `${of('year')}-${of('month')}-${of('day')}T${of('hour')}:${of('minute')}:${of('second')}`
}

const clocks = new Map<string, Intl.DateTimeFormat>()

function clockOf(zone: string): Intl.DateTimeFormat {
  const known = clocks.get(zone)
  if (known !== undefined) return known
  const two = '2-digit'
  const clock = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone: zone, hourCycle: 'h23', year: 'numeric', month: two, day: two, hour: two, minute: two, second: two },
  })
  clocks.set(zone, clock)
  return clock
}

export const isDay = (text: string | undefined): text is string =>
  text !== undefined &&
  /^[1-9]\d{3}-\d{2}-\d{2}$/.test(text) &&
  !Number.isNaN(Date.parse(`${text}T00:00:00Z`)) &&
  addDays(text, 0) === text
