import { createRequire } from 'node:module'
import { join } from 'node:path'

/** The package with prices and contexts; see docs/operate/catalogue.md. */
export const PRICES_PACKAGE = '@pydantic/genai-prices'

/** The package's models of one provider, and its version. `folder` has the package in its node_modules. */
export function readPrices(folder) {
  const require = createRequire(join(folder, 'here.js'))
  const { findProvider } = require(PRICES_PACKAGE)
  const { version } = require(join(require.resolve(PRICES_PACKAGE), '..', '..', 'package.json'))
  return {
    version,
    modelsOf(providerId) {
      const provider = findProvider({ providerId })
      if (provider === undefined) throw new Error(`${PRICES_PACKAGE} has no provider ${providerId}`)
      return provider.models
    },
  }
}

/** The package describes which ids a price is for as a small tree of conditions. */
export function matches(condition, id) {
  if (condition.or !== undefined) return condition.or.some((each) => matches(each, id))
  if (condition.and !== undefined) return condition.and.every((each) => matches(each, id))
  if (condition.equals !== undefined) return id === condition.equals
  if (condition.starts_with !== undefined) return id.startsWith(condition.starts_with)
  if (condition.ends_with !== undefined) return id.endsWith(condition.ends_with)
  if (condition.contains !== undefined) return id.includes(condition.contains)
  if (condition.regex !== undefined) return new RegExp(condition.regex).test(id)
  throw new Error(`A condition of an unknown kind: ${JSON.stringify(condition)}`)
}

/**
 * A model's price on a day: the latest that has started, and the day on which the next one starts. If prices depend on the time of day,
 * the highest is used, so that no operator sells at a loss.
 */
export function priceOn(prices, day) {
  if (!Array.isArray(prices)) return { price: termsOf(prices) }
  const startOf = ({ constraint }) => constraint?.start_date ?? ''
  const dated = prices.filter(({ constraint }) => constraint?.type !== 'time_of_date')
  const begun = dated.filter((entry) => startOf(entry) <= day)
  const next = dated.map(startOf).filter((start) => start > day)
  const hours = prices.filter(({ constraint }) => constraint?.type === 'time_of_date')
  const price = [begun.at(-1), ...hours].map(({ prices: each }) => termsOf(each)).reduce(dearer)
  return { price, ...(next.length === 0 ? {} : { price_until: next.sort()[0] }) }
}

const dearer = (a, b) => (Number(b.output) > Number(a.output) ? b : a)

const CLASSES = [
  ['input', 'input_mtok'],
  ['cached_input', 'cache_read_mtok'],
  ['cache_write', 'cache_write_mtok'],
  ['output', 'output_mtok'],
]

function termsOf(prices) {
  if (prices.input_mtok === undefined || prices.output_mtok === undefined) return undefined
  const ratesAt = (start) =>
    Object.fromEntries(
      CLASSES.flatMap(([name, key]) =>
        prices[key] === undefined ? [] : [[name, decimal(rateAt(prices[key], start))]],
      ),
    )
  const thresholds = CLASSES.flatMap(([, key]) => (prices[key]?.tiers ?? []).map(({ start }) => start))
  const tiers = [...new Set(thresholds)].sort((a, b) => a - b)
  return {
    ...ratesAt(0),
    ...(tiers.length === 0 ? {} : { tiers: tiers.map((start) => ({ above_input_tokens: start, ...ratesAt(start) })) }),
  }
}

const rateAt = (rate, start) =>
  typeof rate === 'number' ? rate : (rate.tiers.findLast((tier) => tier.start <= start)?.price ?? rate.base)

/** A floating-point price as the intended decimal: two to six places. */
function decimal(rate) {
  const [whole, fraction] = rate.toFixed(6).split('.')
  return `${whole}.${fraction.replace(/0{1,4}$/, '')}`
}
