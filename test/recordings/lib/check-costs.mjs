import { PROTOCOLS } from './send-recorded.mjs'

/** In either protocol: streamed, not streamed, and as the recorded usage times the price. */
export function checkWhole(tally, { exchanges, whole, receiptOf, prices }) {
  const pairs = exchanges.flatMap((exchange) => PROTOCOLS.map((protocol) => ({ exchange, protocol })))
  for (const { exchange, protocol } of pairs) {
    const receivedRequest = whole.filter((one) => one.exchange === exchange && one.protocol === protocol)
    const charges = receivedRequest.map(({ id }) => receiptOf.get(id)?.charge_nano)
    const owed = costOf(prices.get(exchange.id), exchange.usage)
    const right = charges.every((charge) => charge === owed) && receivedRequest.every(({ status }) => status === 200)
    tally.check(
      right,
      `${exchange.id} as ${protocol}: streamed ${charges[0]}, not streamed ${charges[1]}, by the recording ${owed} nano`,
    )
  }
}

/** `known` are those that were told the id of their request. */
export function checkCut(tally, { cut, known, receipts, prices }) {
  const withWords = known.filter(({ bytes }) => bytes > 0)
  const ids = new Set(known.map(({ id }) => id))
  tally.check(ids.size === known.length, 'every request that was hung up on has a receipt of its own')
  tally.check(
    cut.every(({ id, bytes }) => id !== undefined || bytes === 0),
    'who was sent words was told the id',
  )
  tally.check(
    withWords.every(({ receipt }) => receipt.charge_nano > 0n),
    `${withWords.length} hung up after the first words: all charged`,
  )
  tally.check(
    receipts.every((receipt) => receipt.state !== 'open' && receipt.shortfall_nano === 0n),
    'no shortfall',
  )
  const priced = ({ exchange, receipt }) => receipt.charge_nano === costOf(prices.get(exchange.id), receipt)
  tally.check(
    known.filter(({ receipt }) => receipt.state === 'settled').every(priced),
    'each by the tokens that it names',
  )
  tally.check(
    withWords.every(({ bytes, seen }) => seen <= bytes),
    'no client got more words than the provider had sent',
  )
}

/** Written out once more: arithmetic that is shared with the product would agree with its faults. */
function costOf(price, { uncached_input, cached_input, cache_write, output }) {
  const pico = (usd) => BigInt(Math.round(Number(usd) * 1e6))
  const [uncached, cached, written, emitted] = [uncached_input, cached_input, cache_write, output].map((count) =>
    BigInt(count),
  )
  const sum =
    uncached * pico(price.input) +
    cached * pico(price.cached_input) +
    written * pico(price.cache_write) +
    emitted * pico(price.output)
  return (sum + 999n) / 1000n
}
