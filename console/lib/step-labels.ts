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
 * What steps are called below an axis and in full, by the clocks of a zone. Hours say their zone in full: in the night when
 * clocks go back, two of them bear one name.
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
