const UNITS = { m: 'minute', h: 'hour', d: 'day', w: 'week' } as const

/** `5h` as a person says it: 5 hours. `week` and `month` have words of their own. */
export function windowName(
  name: string,
  locale: string,
  words: { readonly week: string; readonly month: string },
): string {
  if (name === 'week' || name === 'month') return words[name]
  const [, count = '', letter = ''] = /^(\d+)([mhdw])$/.exec(name) ?? []
  const unit = UNITS[letter as keyof typeof UNITS]
  if (unit === undefined) return name
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(Number(count))
}
