const NANO_PLACES = 9

/** Parses a decimal string of the API into nano-dollars. Any other text is a bug. */
export function nanoOf(amount: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(amount)
  if (!match) throw new Error(`not an amount of money: ${amount}`)
  const [, sign, whole = '0', fraction = ''] = match
  const nano = BigInt(whole + fraction.padEnd(NANO_PLACES, '0'))
  return sign === '-' ? -nano : nano
}

/** The inverse: at least two decimals, without further trailing zeros. */
export function decimalOf(nano: bigint): string {
  const digits = (nano < 0n ? -nano : nano).toString().padStart(NANO_PLACES + 1, '0')
  const fraction = digits.slice(-NANO_PLACES).replace(/0{1,7}$/, '')
  return `${nano < 0n ? '-' : ''}${digits.slice(0, -NANO_PLACES)}.${fraction}`
}

export const isZero = (amount: string): boolean => !/[1-9]/.test(amount)

export const sumMoney = (...amounts: readonly string[]): string =>
  decimalOf(amounts.reduce((sum, amount) => sum + nanoOf(amount), 0n))

export const timesMoney = (amount: string, count: number): string => decimalOf(nanoOf(amount) * BigInt(count))

/** The share of `part` in `whole`, from 0 to 1, for bars only. */
export function shareOf(part: string, whole: string): number {
  const [of, all] = [nanoOf(part), nanoOf(whole)]
  if (all <= 0n || of <= 0n) return 0
  return of >= all ? 1 : Number((of * 10_000n) / all) / 10_000
}

/** Adds decimal strings exactly. The lines of a charge have more decimals than money. */
export function exactSum(amounts: readonly string[]): string {
  const places = Math.max(2, ...amounts.map((amount) => fractionOf(amount).length))
  const sum = amounts.reduce((all, amount) => all + unitsOf(amount, places), 0n)
  const digits = (sum < 0n ? -sum : sum).toString().padStart(places + 1, '0')
  const fraction = digits.slice(-places)
  const kept = fraction.slice(0, 2) + fraction.slice(2).replace(/0+$/, '')
  return `${sum < 0n ? '-' : ''}${digits.slice(0, -places)}.${kept}`
}

const fractionOf = (amount: string): string => amount.split('.')[1] ?? ''

function unitsOf(amount: string, places: number): bigint {
  if (!/^-?\d+(\.\d+)?$/.test(amount)) throw new Error(`not an amount of money: ${amount}`)
  const [whole = '0', fraction = ''] = amount.split('.')
  return BigInt(whole + fraction.padEnd(places, '0'))
}

/**
 * Parses a typed USD amount. Returns undefined for anything that is not above zero. Accepts a decimal comma, but
 * refuses `1,000`, which could also mean a thousand.
 */
export function readMoney(typed: string): string | undefined {
  const text = typed.trim().replace(/^\$\s*/, '')
  const decimal = /^\d+,(\d{1,2}|\d{4,9})$/.test(text) ? text.replace(',', '.') : text
  if (!/^(\d{1,10}(\.\d{1,9})?|\.\d{1,9})$/.test(decimal)) return undefined
  const nano = nanoOf(decimal.startsWith('.') ? `0${decimal}` : decimal)
  return nano > 0n ? decimalOf(nano) : undefined
}

const PLACES_MIN = 2
const PLACES_MAX = 6
const PLACES_OF_COLUMNS = 4
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

/** Exactly four decimals, so that the digits of a column line up; less than a unit of them is shown as such. */
export function columnMoney(amount: string, locale: string): string {
  const signed = nanoOf(amount)
  const nano = signed < 0n ? -signed : signed
  const sign = signed < 0n ? '-' : ''
  const places = { min: PLACES_OF_COLUMNS, max: PLACES_OF_COLUMNS }
  if (nano > 0n && nano < 10n ** BigInt(NANO_PLACES - PLACES_OF_COLUMNS)) {
    const bound = currency(locale, `${sign}0.0001`, places)
    return signed < 0n ? `> ${bound}` : `< ${bound}`
  }
  return currency(locale, sign + rounded(nano, PLACES_OF_COLUMNS), places)
}

/** All digits: nine in the ledger, more in the lines of a charge before rounding. */
export const exactMoney = (amount: string, locale: string): string =>
  currency(locale, amount, { min: PLACES_MIN, max: PLACES_OF_LINES })
