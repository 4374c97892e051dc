import { decimalOf, nanoOf } from './nano.ts'

/**
 * What somebody has typed as an amount in USD, as the API wants it; undefined for what is none above zero. A comma may
 * stand for the point, but not where it could as well part thousands: 1,000 is asked again rather than guessed.
 */
export function readMoney(typed: string): string | undefined {
  const text = typed.trim().replace(/^\$\s*/, '')
  const decimal = /^\d+,(\d{1,2}|\d{4,9})$/.test(text) ? text.replace(',', '.') : text
  if (!/^(\d{1,10}(\.\d{1,9})?|\.\d{1,9})$/.test(decimal)) return undefined
  const nano = nanoOf(decimal.startsWith('.') ? `0${decimal}` : decimal)
  return nano > 0n ? decimalOf(nano) : undefined
}
