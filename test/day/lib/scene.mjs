// What the servers are configured with. Prices are odd on purpose, and the seed's: every rounding shows.

const CONTEXT = { context_tokens: 16_000, max_output_tokens: 400, bytes_per_token: 4 }

/** `brown` is the provider with the bad hour: it is the first of all models, and the only one of `solo`. */
export function planScene(random) {
  const [brown, other] = random.chance(0.5) ? ['alpha', 'beta'] : ['beta', 'alpha']
  const odd = (low, high) => random.between(low, high).toFixed(6)
  const price = (scale) => ({
    ...{ input: odd(0.5 * scale, 2 * scale), output: odd(2 * scale, 8 * scale) },
    per_request: `0.${String(random.below(2000)).padStart(9, '0')}`,
  })
  const twoLanes = (name) => [
    { upstream: brown, model: name, priority: 1 },
    { upstream: other, model: name, priority: 2 },
  ]
  /** All prices that a model has had, in their order. */
  const prices = Object.fromEntries(['coder', 'talk', 'solo', 'bulk', 'metered'].map((id) => [id, [price(2)]]))
  const lanes = {
    coder: twoLanes('say-coder'),
    talk: twoLanes('say-talk'),
    solo: [{ upstream: brown, model: 'say-solo' }],
    bulk: [{ upstream: 'demo', model: 'demo-fast' }],
    metered: [{ upstream: other, model: 'say-metered' }],
  }
  const modelOf = (id) => ({ id, ...CONTEXT, price: prices[id].at(-1), lanes: lanes[id] })
  return {
    ...{ brown, other, prices, modelOf },
    managed: 'metered',
    /** Of `talk` in the file, and of `metered` from a moment on. */
    nextPrice: { talk: price(3), metered: price(5) },
    sections: (providers) => ({
      upstreams: [
        { id: 'demo', wire: 'demo' },
        ...Object.entries(providers).map(([id, { port }]) => ({
          ...{ id, wire: 'chat', base_url: `http://127.0.0.1:${port}/v1`, allow_private: true },
          timeouts: { idle: '3s' },
        })),
      ],
      models: ['coder', 'talk', 'solo', 'bulk'].map(modelOf),
      plans: PLANS.map((plan) => ({ ...plan, models: ['*'] })),
      hold: { uncapped_tokens_min: 20 },
      routing: { aside_first: '1s', aside_longest: '4s', patience: '1s' },
      // A node that stood still would shed load for a while.
      overload: { loop_delay: 'off' },
      drain: { linger: '1s' },
    }),
  }
}

/** The small one is used up before midnight. */
const PLANS = [
  {
    id: 'large',
    windows: [
      { every: '5h', allowance: '40.00' },
      { every: 'month', allowance: '90.00' },
    ],
  },
  {
    id: 'small',
    windows: [
      { every: 'week', allowance: '0.0025' },
      { every: 'month', allowance: '0.0028' },
    ],
  },
]

/** What is wrong with a configuration that is deployed by mistake. */
export const MISTAKES = [
  (sections) => ({ ...sections, modles: [] }),
  (sections) => ({
    ...sections,
    models: [{ ...sections.models[0], price: { input: '-1', output: '1' } }, ...sections.models.slice(1)],
  }),
  (sections) => ({ ...sections, upstreams: sections.upstreams.slice(0, 1) }),
]
