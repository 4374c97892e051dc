import { DISTRIBUTION_HEAD, describeDistribution, middleOf } from './distribution.mjs'

/** Of fewer, one provider's way of counting decides. */
const JUDGED_FROM = 100

/** What these have counted before they spoke is believed, and counts the prompt that was recorded. */
const COUNTS_INPUT_FIRST = new Set(['anthropic', 'gemini'])

/** How far the estimates are from what was produced, as distributions of charged tokens by true ones. */
export function checkEstimates(tally, known) {
  const estimated = known.filter(({ receipt, bytes }) => Number(receipt.estimated) === 1 && bytes > 0)
  console.log(`\nhung up ${known.length} times, ${estimated.length} charged by an estimate\n${DISTRIBUTION_HEAD}`)
  const recorded = estimated.filter(({ exchange }) => !exchange.edited)
  print('output', recorded.map(outputRatio))
  print('output, 20 tokens or more', recorded.filter((one) => trueOutput(one) >= 20).map(outputRatio))
  const unread = recorded.filter(({ exchange }) => !COUNTS_INPUT_FIRST.has(exchange.wire))
  print('input', unread.map(inputRatio))
  print('output of thinned recordings', estimated.filter(({ exchange }) => exchange.edited).map(outputRatio))
  for (const [id, list] of groupBy(estimated, ({ exchange }) => exchange.id)) print(`  ${id}`, list.map(outputRatio))
  for (const [id, list] of groupBy(unread, ({ prompt }) => prompt.id)) print(`  input: ${id}`, list.map(inputRatio))
  if (recorded.length < JUDGED_FROM) return
  for (const [name, ratios] of Object.entries({ output: recorded.map(outputRatio), input: unread.map(inputRatio) })) {
    const middle = middleOf(ratios)
    tally.check(
      middle > 0.5 && middle < 2,
      `the middle estimate of the ${name} is ${middle.toFixed(2)} of what is true`,
    )
  }
}

const print = (name, ratios) => ratios.length > 0 && console.log(describeDistribution(name, ratios))

function groupBy(list, nameOf) {
  const groups = new Map()
  for (const one of list) groups.set(nameOf(one), [...(groups.get(nameOf(one)) ?? []), one])
  return groups
}

/** The tokens of the whole answer, by the share of its bytes that had been sent. */
const trueOutput = ({ exchange, bytes }) => (exchange.usage.output * bytes) / exchange.bytes
const outputRatio = (one) => Number(one.receipt.output) / trueOutput(one)
const inputRatio = ({ receipt, prompt }) => Number(receipt.uncached_input + receipt.cached_input) / prompt.usage.output
