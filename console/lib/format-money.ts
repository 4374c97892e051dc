import { nanoOf } from './money.ts'

const PLACES_MIN = 2
const PLACES_MAX = 6
const NANO_PLACES = 9
const PLACES_OF_LINES = 15
/** Below one dollar the first digits that are not zero matter; three of them say enough. */
const DIGITS_THAT_MATTER = 3

const MINUS = '−'
/** Intl takes decimal text as it is, without passing through a float. */
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

/** As many places as the amount needs to be told from its neighbours: two for dollars, up to six for parts of a cent. */
function placesFor(nano: bigint): number {
  const digits = nano.toString()
  if (digits.length > NANO_PLACES) return PLACES_MIN
  const leadingZeros = NANO_PLACES - digits.length
  return Math.min(PLACES_MAX, Math.max(PLACES_MIN, leadingZeros + DIGITS_THAT_MATTER))
}

/** Half away from zero, on whole numbers, so that no float can move a digit. */
function rounded(nano: bigint, places: number): string {
  const unit = 10n ** BigInt(NANO_PLACES - places)
  const units = (nano + unit / 2n) / unit
  const digits = units.toString().padStart(places + 1, '0')
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`
}

/**
 * Money for reading: always with its currency, two to six places, and never a zero for what is not zero. The exact digits
 * belong beside it, from `exactMoney`.
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

/** Every digit that there is: nine in the ledger, more in the lines of a charge before they are rounded. */
export const exactMoney = (amount: string, locale: string): string =>
  currency(locale, amount, { min: PLACES_MIN, max: PLACES_OF_LINES })
