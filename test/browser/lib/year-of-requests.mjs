// The distribution of a year's requests: models, sizes, times and outcomes.

export const MODELS = [
  { id: 'fast-coder', price: '{ input: "0.25", cached_input: "0.025", output: "2.00" }', share: 40 },
  { id: 'deep-thinker', price: '{ input: "1.25", cached_input: "0.125", output: "10.00" }', share: 20 },
  { id: 'long-reader', price: '{ input: "0.50", cached_input: "0.05", output: "3.00" }', share: 15 },
  { id: 'tiny', price: '{ input: "0.05", output: "0.40" }', share: 15 },
  { id: 'vendor/slashed', price: '{ input: "0.10", output: "0.30", per_request: "0.0001" }', share: 7 },
  { id: 'rarely-used', price: '{ input: "2.00", cached_input: "0.20", output: "8.00" }', share: 3 },
]

/** Busy by day on weekdays, rarely at night and on Sundays. */
export function isBusy(at, below) {
  const date = new Date(at)
  const byDay = date.getUTCHours() >= 7 && date.getUTCHours() < 20
  const weekend = date.getUTCDay() % 6 === 0
  return below(100) < (byDay ? 85 : 25) * (weekend ? 0.4 : 1)
}

/** `size`: of the input, which grows with the conversations of agents. */
export function drawRequest(below, size = 1) {
  const model = drawModel(below)
  const input = size * (200 + below(below(4) === 0 ? 60_000 : 6000))
  const cached = below(3) === 0 ? 0 : below(input)
  const cap = 256 + below(4000)
  const output = 1 + below(cap)
  const luck = below(1000)
  const outcome = luck < 25 ? 'upstream_failed' : luck < 45 ? 'client_gone' : luck < 47 ? 'recovered' : 'completed'
  const released = outcome !== 'completed' && below(2) === 0
  const usage = {
    ...{ uncachedInput: input - cached, cachedInput: cached, cacheWrite: 0, output },
    ...{ reasoning: model === 'deep-thinker' ? below(output) : 0, estimated: outcome === 'client_gone' },
  }
  return { model, outcome, cap, inputBound: input + 500, usage: released ? undefined : usage }
}

function drawModel(below) {
  let place = below(100)
  for (const { id, share } of MODELS) {
    if (place < share) return id
    place -= share
  }
  return MODELS[0].id
}

const REPOSITORIES = ['web-shop', 'mobile-app', 'data-platform', 'infrastructure']
const BRANCHES = ['main', 'release', 'feature/checkout']

/** As a receipt has them. */
export const drawTags = (below) =>
  below(3) === 0
    ? undefined
    : JSON.stringify([`branch:${BRANCHES[below(BRANCHES.length)]}`, `repo:${REPOSITORIES[below(REPOSITORIES.length)]}`])

/** Most of the traffic is that of the first rows. */
export const drawIndex = (below, length) => Math.floor(length * (below(10_000) / 10_000) ** 2)
