const DAY_MS = 86_400_000

/** Days are text (`2026-11-22`), because a day depends on the time zone. */
export const dayIn = (zone: string, time: number): string => wallClock(zone, time).slice(0, 10)

export const addDays = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10)

/** Days of which both are inclusive, either of which may be open, as the API takes them: with the day after the last one. */
export const rangeOfDays = ({ from, to }: { readonly from?: string; readonly to?: string }, zone: string) => ({
  ...(from !== undefined && { from }),
  ...(to !== undefined && { to: addDays(to, 1) }),
  ...((from !== undefined || to !== undefined) && { zone }),
})

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

type Step = 'hour' | 'day' | 'month'

interface StepLabel {
  readonly id: string
  readonly short: string
  readonly long: string
}

const SHORT: Readonly<Record<Step, Intl.DateTimeFormatOptions>> = {
  hour: { hour: '2-digit', minute: '2-digit' },
  day: { day: 'numeric', month: 'short' },
  month: { month: 'short', year: 'numeric' },
}

const LONG: Readonly<Record<Step, Intl.DateTimeFormatOptions>> = {
  hour: { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
  day: { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' },
  month: { month: 'long', year: 'numeric' },
}

/**
 * Short and long labels for the steps of a time axis. Hours include the time zone, because an hour repeats when clocks
 * go back.
 */
export function stepLabels(
  beginnings: readonly string[],
  step: Step,
  { locale, zone }: { readonly locale: string; readonly zone: string },
): StepLabel[] {
  const short = new Intl.DateTimeFormat(locale, { ...SHORT[step], timeZone: zone })
  const long = new Intl.DateTimeFormat(locale, { ...LONG[step], timeZone: zone })
  return beginnings.map((iso) => {
    const at = new Date(iso)
    return { id: iso, short: short.format(at), long: long.format(at) }
  })
}
