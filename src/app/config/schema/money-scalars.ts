import { formatPricePerMillion, type PicoPerToken, parsePricePerMillion, parseUsd } from '../../../model/money.ts'
import { AS_WRITTEN, type Reading, read, scalar, wrong } from './scalars.ts'

/** Dearer than any model ever was: somebody counted in another unit. */
const PRICE_MAX = parsePricePerMillion('10000')!
/** Cheaper than this, and not free, is a price per token that was copied from another list. */
const PRICE_MIN = parsePricePerMillion('0.0001')!

const HINTS = { type: 'string', pattern: '^(\\d+(\\.\\d+)?|\\$\\{.+\\})$' }

export const price = (description: string) =>
  scalar(`${description}, in USD per million tokens, as quoted text.`, { ...HINTS, examples: ['3.00'] }, readPrice)

function readPrice(value: unknown): Reading<PicoPerToken> {
  const expected = 'a price in USD per million tokens, as quoted text such as "3.00"'
  if (typeof value === 'number')
    return wrong(expected, `Quote it: "${AS_WRITTEN}". Numbers lose digits, money must not.`)
  const parsed = typeof value === 'string' ? parsePricePerMillion(value) : undefined
  if (isPerToken(value, parsed)) {
    return wrong(
      expected,
      'This looks like a price per token. The unit is USD per million tokens: "3.00", not "0.000003".',
    )
  }
  if (parsed === undefined) {
    return wrong(expected, 'Digits with at most 6 decimals, no sign, no currency, no comma. Free is "0".')
  }
  if (parsed > PRICE_MAX) {
    return wrong(expected, `At most "${formatPricePerMillion(PRICE_MAX)}". The unit is USD per million tokens.`)
  }
  return read(parsed)
}

/** Most prices per token have more decimals than a price per million may have. */
const FINE = /^0?\.0{3}\d{4,}$/

const isPerToken = (value: unknown, parsed: PicoPerToken | undefined): boolean =>
  parsed === undefined ? typeof value === 'string' && FINE.test(value) : parsed !== 0n && parsed < PRICE_MIN

export const usd = (description: string, max: string) =>
  scalar(`${description}, in USD, as quoted text.`, { ...HINTS, examples: ['12.00'] }, (value) => {
    const expected = `an amount in USD from "0" to "${max}", as quoted text such as "12.00"`
    if (typeof value === 'number')
      return wrong(expected, `Quote it: "${AS_WRITTEN}". Numbers lose digits, money must not.`)
    const amount = typeof value === 'string' ? parseUsd(value) : undefined
    if (amount === undefined || amount < 0n || amount > parseUsd(max)!) {
      return wrong(expected, 'Digits with at most 9 decimals, no sign, no currency, no comma.')
    }
    return read(amount)
  })

/** `"1.5"` as parts per million. */
export const factor = (description: string) =>
  scalar(description, HINTS, (value) => {
    const expected = 'a factor from "0.000001" to "1000", as quoted text such as "2.0"'
    if (typeof value === 'number') return wrong(expected, `Quote it: "${AS_WRITTEN}".`)
    const ppm = typeof value === 'string' ? (parsePricePerMillion(value) as bigint | undefined) : undefined
    return ppm === undefined || ppm === 0n || ppm > 1_000_000_000n ? wrong(expected) : read(ppm)
  })
