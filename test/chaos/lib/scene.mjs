// What the server is configured with, and what is asked of it. Prices are odd on purpose: every rounding shows.

export const BYTES_PER_TOKEN = 4
export const MARK_INTERVAL_MS = 100

export const MODELS = [
  {
    id: 'paced',
    lanes: ['demo'],
    price: {
      input: '3.10',
      output: '15.70',
      per_request: '0',
      tiers: [{ above_input_tokens: 40, input: '4.30', output: '17.90' }],
    },
  },
  {
    id: 'fast',
    lanes: ['demo-fast'],
    price: { input: '0.173456', output: '0.731579', per_request: '0.000001003', tiers: [] },
  },
  {
    id: 'either',
    lanes: ['demo', 'demo-fast'],
    price: { input: '1.000001', output: '9.999997', per_request: '0', tiers: [] },
  },
]

/** `share` is how much of the load runs on it. The poor wallet pays for one dear answer at a time, and soon for none. */
export const ACCOUNTS = [
  { email: 'rich@localhost', credit: '500.00', keys: 2, share: 0.65 },
  { email: 'modest@localhost', credit: '0.15', keys: 1, share: 0.2 },
  { email: 'poor@localhost', credit: '0.009', keys: 1, share: 0.15 },
]

/** YAML is a superset of JSON. */
export const configText = ({ metricsPort }) =>
  JSON.stringify(
    {
      upstreams: [{ id: 'demo', wire: 'demo' }],
      models: MODELS.map(({ id, lanes, price }) => ({
        id,
        context_tokens: 4000,
        max_output_tokens: 400,
        bytes_per_token: BYTES_PER_TOKEN,
        price,
        lanes: lanes.map((model) => ({ upstream: 'demo', model })),
      })),
      server: { metrics_port: metricsPort },
      ledger: { mark_interval: `${MARK_INTERVAL_MS}ms` },
      telemetry: { log: { level: 'warn', format: 'json' } },
    },
    null,
    2,
  )

const WORDS_MAX = 60
const PADS = ['', '', 'Please, now: ', 'é'.repeat(40), 'Slowly and with care, '.repeat(9)]

/** One random request: whose money, which model, how much, and whether the client will hang up on it. */
export function planAsk(random, accounts) {
  const words = 1 + random.below(WORDS_MAX)
  const account = pickByShare(random, accounts)
  return {
    account: account.email,
    key: random.pick(account.keys),
    model: random.chance(0.02) ? 'no-such-model' : random.pick(MODELS).id,
    delivery: random.chance(0.7) ? 'stream' : 'json',
    content: `${random.pick(PADS)}count to ${words}`,
    words,
    cap: random.chance(0.3) ? 1 + random.below(2 * WORDS_MAX) : undefined,
    abort: random.chance(0.07) ? planAbort(random, words) : undefined,
  }
}

const planAbort = (random, words) =>
  random.chance(0.5) ? { afterMs: random.between(0, 600) } : { afterWords: 1 + random.below(words) }

function pickByShare(random, accounts) {
  let left = random.between(0, 1)
  for (const account of accounts) {
    left -= account.share
    if (left < 0) return account
  }
  return accounts[0]
}

export const messagesOf = (ask) => [{ role: 'user', content: ask.content }]

/** The words that a whole answer has: the demo counts, and stops at the cap. */
export const wordsOf = ({ words, cap }) => Math.min(words, cap ?? words)

export const textOf = (ask) => Array.from({ length: wordsOf(ask) }, (_, index) => index + 1).join(' ')
