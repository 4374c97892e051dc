// What the server is configured with, and whose keys ask it.
import { createAccount, createKey } from '../../program/program.mjs'

/** Every wire has an upstream that keeps its word, and the two that are asked to fail are others: what fails cools its own lanes. */
const WIRES = { chat: '/v1', responses: '/v1', anthropic: '/v1', gemini: '/v1beta' }
export const HONEST_MODELS = Object.keys(WIRES)
export const FAULTY_MODELS = ['faulty-chat', 'faulty-anthropic', 'backed']

const LANES = {
  ...Object.fromEntries(HONEST_MODELS.map((wire) => [wire, [{ upstream: wire, model: 'far' }]])),
  'faulty-chat': [{ upstream: 'failing-chat', model: 'far' }],
  'faulty-anthropic': [{ upstream: 'failing-anthropic', model: 'far' }],
  backed: [
    { upstream: 'failing-chat', model: 'far', priority: 0 },
    { upstream: 'chat', model: 'far', priority: 1 },
  ],
}

export const ACCOUNTS = [
  { email: 'first@localhost', credit: '100000', kind: 'wallet', share: 0.45 },
  { email: 'second@localhost', credit: '100000', kind: 'wallet', share: 0.25 },
  { email: 'builder@localhost', credit: '7', kind: 'builder', share: 0.28, plan: 'builder' },
  // Has nothing from the first request on: what is refused must leave nothing behind either.
  { email: 'poor@localhost', credit: '0.000000001', kind: 'wallet', share: 0.02 },
]

/** The gateway counts limits that no request reaches too. YAML is a superset of JSON. */
export const configText = ({ metricsPort, providerPort }) =>
  JSON.stringify({
    server: { metrics_port: metricsPort },
    upstreams: [
      ...HONEST_MODELS.map((wire) => upstream(wire, wire, providerPort)),
      upstream('failing-chat', 'chat', providerPort),
      upstream('failing-anthropic', 'anthropic', providerPort),
    ],
    models: Object.entries(LANES).map(([id, lanes]) => ({
      id,
      context_tokens: 2_000_000,
      max_output_tokens: 80_000,
      price: { input: '0.173456', cached_input: '0.02', output: '0.731579', per_request: '0.000001003' },
      lanes,
    })),
    plans: [
      {
        id: 'builder',
        models: ['*'],
        windows: [
          { every: '1m', allowance: '1000.00' },
          { every: 'month', allowance: '100000.00' },
        ],
      },
    ],
    limits: {
      key: { requests_per_minute: 1_000_000, tokens_per_minute: 1_000_000_000_000, concurrent: 10_000 },
      account: { concurrent: 10_000 },
      model: { concurrent: 10_000 },
    },
    // So that things expire while the run lasts.
    retention: { state: '1m', idempotency: '1m' },
    telemetry: { log: { level: 'warn', format: 'json' } },
  })

const upstream = (id, wire, port) => ({
  id,
  wire,
  base_url: `http://127.0.0.1:${port}${WIRES[wire]}`,
  api_key: id.startsWith('failing') ? 'failing' : 'soak',
  allow_private: true,
})

/** The accounts, their money, and one key each. */
export async function prepareAccounts(place) {
  const made = []
  for (const account of ACCOUNTS) {
    await createAccount(place, account)
    made.push({ ...account, key: (await createKey(place, account)).key })
  }
  return made
}
