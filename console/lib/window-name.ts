const UNITS = { m: 'minute', h: 'hour', d: 'day', w: 'week' } as const
const SPELLED: Readonly<Record<string, string>> = { day: '1d', week: '1w' }

/** `5h` as a person says it: 5 hours. The calendar's own spans are one of each: 1 week, 1 month. */
export function windowName(name: string, locale: string): string {
  const said = (count: number, unit: string) =>
    new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(count)
  if (name === 'month') return said(1, 'month')
  const [, count = '', letter = ''] = /^(\d+)([mhdw])$/.exec(SPELLED[name] ?? name) ?? []
  const unit = UNITS[letter as keyof typeof UNITS]
  return unit === undefined ? name : said(Number(count), unit)
}
