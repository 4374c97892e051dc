import { nanoOf } from './money.ts'

const PLACES_MIN = 2
const PLACES_MAX = 6
const NANO_PLACES = 9
const PLACES_OF_LINES = 15
/** Below one dollar, show three significant digits. */
const DIGITS_THAT_MATTER = 3

const MINUS = '−'
/** Intl formats decimal text exactly, without a float. */
type DecimalText = `${number}`

function currency(locale: string, decimal: string, places: { min: number; max: number }): string {
  const format = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: 'USD',
    minimumFractionDigits: places.min,
    maximumFractionDigits: places.max,
  })
  return format.format(decimal as DecimalText).replace('-', MINUS)
}

/** Two decimals for dollars, up to six for fractions of a cent. */
function placesFor(nano: bigint): number {
  const digits = nano.toString()
  if (digits.length > NANO_PLACES) return PLACES_MIN
  const leadingZeros = NANO_PLACES - digits.length
  return Math.min(PLACES_MAX, Math.max(PLACES_MIN, leadingZeros + DIGITS_THAT_MATTER))
}

/** Rounds half away from zero with integers, so that no float changes a digit. */
function rounded(nano: bigint, places: number): string {
  const unit = 10n ** BigInt(NANO_PLACES - places)
  const units = (nano + unit / 2n) / unit
  const digits = units.toString().padStart(places + 1, '0')
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`
}

/**
 * Formats money with two to six decimals. A non-zero amount never shows as zero. Show the exact digits of `exactMoney`
 * beside it.
 */
export function formatMoney(amount: string, locale: string): string {
  const signed = nanoOf(amount)
  const nano = signed < 0n ? -signed : signed
  const sign = signed < 0n ? '-' : ''
  const places = { min: PLACES_MIN, max: PLACES_MAX }
  const least = 10n ** BigInt(NANO_PLACES - PLACES_MAX)
  if (nano > 0n && nano < least) {
    const bound = currency(locale, `${sign}0.000001`, places)
    return signed < 0n ? `> ${bound}` : `< ${bound}`
  }
  return currency(locale, sign + rounded(nano, placesFor(nano)), places)
}

/** All digits: nine in the ledger, more in the lines of a charge before rounding. */
export const exactMoney = (amount: string, locale: string): string =>
  currency(locale, amount, { min: PLACES_MIN, max: PLACES_OF_LINES })
