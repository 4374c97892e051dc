import { DISTRIBUTION_HEAD, describeDistribution } from './distribution.mjs'

/** How far the estimates are from what was produced, as distributions of charged tokens by true ones. */
export function printErrors(known) {
  const estimated = known.filter(({ receipt, bytes }) => Number(receipt.estimated) === 1 && bytes > 0)
  const told = known.filter(({ receipt }) => Number(receipt.estimated) === 0 && receipt.output !== null)
  console.log(
    `\nhung up ${known.length} times: ${estimated.length} charged by an estimate, ${told.length} by the provider's own count`,
  )
  console.log(`${DISTRIBUTION_HEAD}`)
  const recorded = estimated.filter(({ exchange }) => !exchange.edited)
  const line = (name, list, ratio) => list.length > 0 && console.log(describeDistribution(name, list.map(ratio)))
  line('output', recorded, outputRatio)
  line(
    'output, 20 tokens or more',
    recorded.filter((one) => trueOutput(one) >= 20),
    outputRatio,
  )
  line('input', recorded, inputRatio)
  line(
    'output of thinned recordings',
    estimated.filter(({ exchange }) => exchange.edited),
    outputRatio,
  )
  for (const id of new Set(estimated.map(({ exchange }) => exchange.id))) {
    line(
      `  output of ${id}`,
      estimated.filter(({ exchange }) => exchange.id === id),
      outputRatio,
    )
  }
  const prompts = new Map(recorded.map((one) => [one.prompt.id, one]))
  for (const [id, one] of prompts) line(`  input of ${id}`, [one], inputRatio)
}

/** The tokens of the whole answer, by the share of its bytes that had been sent. */
const trueOutput = ({ exchange, bytes }) => (exchange.usage.output * bytes) / exchange.bytes
const outputRatio = (one) => Number(one.receipt.output) / trueOutput(one)
const inputRatio = ({ receipt, prompt }) => Number(receipt.uncached_input + receipt.cached_input) / prompt.usage.output
