// What the server is configured with, and what is asked of it. Prices are odd on purpose: every rounding shows.

export const BYTES_PER_TOKEN = 4
export const MARK_INTERVAL_MS = 100
/** A provider that stops talking. Longer than any pause of the server, or healthy answers would be taken for silent. */
const IDLE = '800ms'

export const MODELS = [
  {
    id: 'paced',
    lanes: [{ upstream: 'demo', model: 'demo' }],
    price: {
      input: '3.10',
      output: '15.70',
      per_request: '0',
      tiers: [{ above_input_tokens: 40, input: '4.30', output: '17.90' }],
    },
  },
  {
    id: 'fast',
    lanes: [{ upstream: 'demo', model: 'demo-fast' }],
    price: { input: '0.173456', output: '0.731579', per_request: '0.000001003', tiers: [] },
  },
  {
    id: 'either',
    lanes: [
      { upstream: 'demo', model: 'demo' },
      { upstream: 'demo', model: 'demo-fast' },
    ],
    price: { input: '1.000001', output: '9.999997', per_request: '0', tiers: [] },
  },
  {
    id: 'far',
    lanes: [{ upstream: 'far', model: 'say' }],
    price: { input: '2.718281', output: '14.142135', per_request: '0.000000007', tiers: [] },
  },
  {
    id: 'backed',
    lanes: [
      { upstream: 'far', model: 'say', priority: 0 },
      { upstream: 'demo', model: 'demo-fast', priority: 1 },
    ],
    price: { input: '0.577215', output: '6.180339', per_request: '0', tiers: [] },
  },
]

/** Of two windows each. The allowances are small: they are used up within a run, and the narrow one holds few requests. */
export const PLANS = [
  {
    id: 'builder',
    windows: [
      { every: '5h', allowance: '0.08' },
      { every: 'month', allowance: '3.00' },
    ],
  },
  {
    id: 'builder-more',
    windows: [
      { every: '5h', allowance: '0.60' },
      { every: 'month', allowance: '4.00' },
    ],
  },
  {
    id: 'narrow',
    windows: [
      { every: '1m', allowance: '0.006' },
      { every: 'month', allowance: '1.00' },
    ],
  },
]

/**
 * `share` is how much of the load runs on it. The poor wallet pays for one dear answer at a time, and soon for none. The
 * wallets of the builders are never touched. Each account has one key more, which sends nothing without an Idempotency-Key.
 */
export const ACCOUNTS = [
  { email: 'rich@localhost', credit: '500.00', kind: 'wallet', keys: 2, share: 0.45 },
  { email: 'modest@localhost', credit: '0.15', kind: 'wallet', keys: 1, share: 0.12 },
  { email: 'poor@localhost', credit: '0.009', kind: 'wallet', keys: 1, share: 0.08 },
  {
    email: 'capped@localhost',
    credit: '5.00',
    kind: 'wallet',
    keys: 1,
    share: 0.1,
    cap: { day: '0.008', month: '2.00' },
  },
  { email: 'builder@localhost', credit: '7.00', kind: 'builder', keys: 1, share: 0.17, plan: 'builder' },
  { email: 'narrow@localhost', credit: '7.00', kind: 'builder', keys: 1, share: 0.08, plan: 'narrow' },
]

/** YAML is a superset of JSON. `more` are sections of its own, and settings of the ledger. */
export const configText = ({ metricsPort, providerPort, idle = IDLE, more: { ledger, ...sections } = {} }) =>
  JSON.stringify(
    {
      upstreams: [
        { id: 'demo', wire: 'demo' },
        {
          id: 'far',
          wire: 'chat',
          base_url: `http://127.0.0.1:${providerPort}/v1`,
          allow_private: true,
          timeouts: { idle },
        },
      ],
      models: MODELS.map(({ id, lanes, price }) => ({
        id,
        context_tokens: 4000,
        max_output_tokens: 400,
        bytes_per_token: BYTES_PER_TOKEN,
        price,
        lanes,
      })),
      plans: PLANS.map((plan) => ({ ...plan, models: ['*'] })),
      server: { metrics_port: metricsPort },
      // Each fault has to be met by the request that asks for it.
      routing: { put_aside: false, retry_percent: 'off' },
      ledger: { mark_interval: `${MARK_INTERVAL_MS}ms`, ...ledger },
      ...sections,
      telemetry: { log: { level: 'warn', format: 'json' } },
    },
    null,
    2,
  )
