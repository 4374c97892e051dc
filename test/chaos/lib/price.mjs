import { messagesOf, wordsOf } from './plan-request.mjs'
import { BYTES_PER_TOKEN, MODELS } from './scene.mjs'

// The arithmetic of the audit. It is written out here once more and shares no code with the product, because a fault in
// shared code would agree with itself.

/** A decimal text as a whole number of units of ten to the power of minus `places`. */
function wholeOf(text, places) {
  const [whole, fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(places, '0'))
}

export const costOf = (modelId, usage) => costAt(MODELS.find(({ id }) => id === modelId).price, usage)

/** What a request costs at a price in nano-dollars: dollars per million tokens are pico-dollars per token. */
export function costAt(price, { input, output }) {
  const rates = price.tiers?.findLast((tier) => input > tier.above_input_tokens) ?? price
  const pico = BigInt(input) * wholeOf(rates.input, 6) + BigInt(output) * wholeOf(rates.output, 6)
  return (pico + 999n) / 1000n + wholeOf(price.per_request, 9)
}

export const nanoOf = (usd) => wholeOf(usd, 9)

export const tokensIn = (bytes) => Math.ceil(bytes / BYTES_PER_TOKEN)

/** By the demo's own count, which a whole answer is charged by. */
export const reportedUsage = (sendTurn) => ({
  input: tokensIn(Buffer.byteLength(sendTurn.content) + BYTES_PER_TOKEN),
  output: wordsOf(sendTurn),
})

/** What is taken for the input where the provider's count never came. */
export const estimatedInput = (sendTurn) => tokensIn(Buffer.byteLength(JSON.stringify(messagesOf(sendTurn))))
