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
