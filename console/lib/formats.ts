import { columnMoney, exactMoney, formatMoney } from './money.ts'

/** Larger values would show as 1000k instead of 1M. */
const MILLION_SHOWN = 999_950

const SPANS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

type Unit = 'millisecond' | 'second' | 'minute' | 'hour' | 'day'

/** Formats numbers and times in the user's locale and time zone. */
export interface Formats {
  readonly locale: string
  readonly zone: string
  money(amount: string): string
  exactMoney(amount: string): string
  /** With four decimals, for a column. */
  columnMoney(amount: string): string
  /** For chart axes, where money is a rounded float. */
  moneyTick(value: number): string
  count(value: number): string
  /** `12.3k`. Show the exact count beside it. */
  short(value: number): string
  percent(share: number): string
  duration(ms: number): string
  /** Date and time to the minute. */
  time(iso: string): string
  exactTime(iso: string): string
  /** Time to the millisecond. */
  precise(iso: string): string
  /** The same instant in UTC, for comparison with logs. */
  utc(iso: string): string
  day(iso: string): string
  /** Without the year, for chart axes. */
  shortDay(iso: string): string
  clock(iso: string): string
  relative(iso: string, now: number): string
  list(items: readonly string[]): string
  /** `5h` becomes "5 hours". The calendar windows become "1 week" and "1 month". */
  window(name: string): string
  /** Picks the plural form: `plural(3, { one: '# key', other: '# keys' })`. */
  plural(value: number, forms: PluralForms): string
}

export type PluralForms = { readonly other: string } & Partial<Readonly<Record<Intl.LDMLPluralRule, string>>>

export function createFormats(locale: string, zone: string): Formats {
  const number = new Intl.NumberFormat(locale)
  const compact = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 })
  const oneDigit = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 })
  const ticks = new Intl.NumberFormat(locale, {
    ...{ style: 'currency', currency: 'USD', trailingZeroDisplay: 'stripIfInteger', maximumFractionDigits: 9 },
  })
  const rules = new Intl.PluralRules(locale)
  const lists = new Intl.ListFormat(locale, { type: 'conjunction' })
  const shares = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 })
  return {
    locale,
    zone,
    money: (amount) => formatMoney(amount, locale),
    exactMoney: (amount) => exactMoney(amount, locale),
    columnMoney: (amount) => columnMoney(amount, locale),
    moneyTick: (value) => ticks.format(value),
    count: (value) => number.format(value),
    short(value) {
      if (value < 1_000) return number.format(value)
      // From a million on, use the words of the language: a German billion is a thousand times an American one.
      return value < MILLION_SHOWN ? `${oneDigit.format(value / 1_000)}k` : compact.format(value)
    },
    percent: (share) => shares.format(share),
    duration: (ms) => formatDuration(ms, locale),
    ...createTimes(locale, zone),
    list: (items) => lists.format(items),
    window: (name) => windowName(name, locale),
    plural: (value, forms) => (forms[rules.select(value)] ?? forms.other).replace('#', number.format(value)),
  }
}

function createTimes(locale: string, zone: string) {
  const format = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { timeZone: zone, ...options })
  const time = format({ day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' })
  const exact = format({ dateStyle: 'long', timeStyle: 'long' })
  const precise = format({
    ...{ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' },
    fractionalSecondDigits: 3,
  })
  const day = format({ day: 'numeric', month: 'short', year: 'numeric' })
  const shortDay = format({ day: 'numeric', month: 'short' })
  const clock = format({ hour: '2-digit', minute: '2-digit' })
  const spans = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
  return {
    time: (iso: string) => time.format(new Date(iso)),
    exactTime: (iso: string) => exact.format(new Date(iso)),
    precise: (iso: string) => precise.format(new Date(iso)),
    utc: (iso: string) => `${iso.slice(0, 19).replace('T', ' ')} UTC`,
    day: (iso: string) => day.format(new Date(iso)),
    shortDay: (iso: string) => shortDay.format(new Date(iso)),
    clock: (iso: string) => clock.format(new Date(iso)),
    relative: (iso: string, now: number) => relativeTime((Date.parse(iso) - now) / 1_000, spans),
  }
}

function formatDuration(ms: number, locale: string): string {
  const unit = (value: number, name: Unit, places = 0) =>
    new Intl.NumberFormat(locale, {
      style: 'unit',
      unit: name,
      unitDisplay: 'short',
      maximumFractionDigits: places,
    }).format(value)
  if (ms < 1_000) return unit(Math.round(ms), 'millisecond')
  if (ms < 60_000) return unit(ms / 1_000, 'second', ms < 10_000 ? 2 : 1)
  const seconds = Math.round(ms / 1_000)
  if (seconds < 3_600) return `${unit(Math.floor(seconds / 60), 'minute')} ${unit(seconds % 60, 'second')}`
  const minutes = Math.round(seconds / 60)
  if (minutes < 1_440) return `${unit(Math.floor(minutes / 60), 'hour')} ${unit(minutes % 60, 'minute')}`
  const hours = Math.round(minutes / 60)
  return `${unit(Math.floor(hours / 24), 'day')} ${unit(hours % 24, 'hour')}`
}

function relativeTime(seconds: number, spans: Intl.RelativeTimeFormat): string {
  const [unit, size] = SPANS.find(([, span]) => Math.abs(seconds) >= span) ?? ['second', 1]
  return spans.format(Math.trunc(seconds / size), unit)
}

const WINDOW_UNITS = { m: 'minute', h: 'hour', d: 'day', w: 'week' } as const
const SPELLED: Readonly<Record<string, string>> = { day: '1d', week: '1w' }

function windowName(name: string, locale: string): string {
  const format = (count: number, unit: string) =>
    new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(count)
  if (name === 'month') return format(1, 'month')
  const [, count = '', letter = ''] = /^(\d+)([mhdw])$/.exec(SPELLED[name] ?? name) ?? []
  const unit = WINDOW_UNITS[letter as keyof typeof WINDOW_UNITS]
  return unit === undefined ? name : format(Number(count), unit)
}
