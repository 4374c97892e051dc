import type { z } from 'zod'
import type { chargeLine } from '../contract/requests.ts'
import { formatPico, formatPricePerMillion, picoFromNano } from '../model/money.ts'
import type { Price, Rates } from '../model/price.ts'
import type { ReceiptsTable } from '../store/tables.ts'

type ChargeLine = z.output<typeof chargeLine>

/**
 * What the cost of a request is made of. Each amount is exact; their sum, rounded up once to a nano-dollar, is the cost.
 * Nothing where nothing was used: what was given back, and what still runs.
 */
export function chargeLinesOf(receipt: ReceiptsTable, price: Price): ChargeLine[] {
  if (receipt.state !== 'settled') return []
  const rates: Rates = price.tiers.find(({ aboveInputTokens }) => aboveInputTokens === receipt.tier) ?? price
  const classes = [
    ['uncached_input', receipt.uncached_input, rates.input],
    ['cached_input', receipt.cached_input, rates.cachedInput],
    ['cache_write', receipt.cache_write, rates.cacheWrite],
    ['output', receipt.output, rates.output],
  ] as const
  const lines = classes.flatMap(([what, tokens, rate]) =>
    tokens === null || tokens === 0 ? [] : [lineOf(what, tokens, rate)],
  )
  if (price.perRequest === 0n) return lines
  const amount = formatPico(picoFromNano(price.perRequest))
  return [...lines, { what: 'per_request', tokens: null, per_million: null, amount }]
}

const lineOf = (what: ChargeLine['what'], tokens: number, rate: bigint): ChargeLine => ({
  what,
  tokens,
  per_million: formatPricePerMillion(rate),
  amount: formatPico(BigInt(tokens) * rate),
})
