/**
 * What most walks are served from. `swift` answers without pauses and `calm` word by word; `paid` costs exactly its
 * output, so that a hold can equal its charge; the others each differ in the one thing that their name says.
 */
export const TEST_CONFIG = `
upstreams:
  - { id: demo, wire: demo }
models:
  - id: swift
    efforts: [low, medium, high]
    context_tokens: 128000
    max_output_tokens: 8192
    price: { input: "0.10", cached_input: "0.025", output: "0.40" }
    lanes: [{ upstream: demo, model: demo-fast }]
  - id: calm
    efforts: [low, medium, high]
    context_tokens: 128000
    max_output_tokens: 8192
    price: { input: "0.10", cached_input: "0.025", output: "0.40" }
    lanes: [{ upstream: demo, model: demo }]
  - id: paid
    context_tokens: 128000
    max_output_tokens: 1000
    price: { input: "0", output: "1000.00" }
    lanes: [{ upstream: demo, model: demo-fast }]
  - id: vendor/slashed
    efforts: []
    context_tokens: 128000
    max_output_tokens: 4096
    price: { input: "1.00", output: "2.00", per_request: "0.000000007" }
    lanes: [{ upstream: demo, model: demo-fast }]
  - id: trap-high
    context_tokens: 128000
    max_output_tokens: 4096
    price: { input: "1.00", output: "2.00" }
    lanes: [{ upstream: demo, model: demo-fast }]
  - id: wallet-only
    kinds: [wallet]
    context_tokens: 128000
    max_output_tokens: 4096
    price: { input: "1.00", output: "2.00" }
    lanes: [{ upstream: demo, model: demo-fast }]
  - id: builder-only
    kinds: [builder]
    context_tokens: 128000
    max_output_tokens: 4096
    price: { input: "1.00", output: "2.00" }
    lanes: [{ upstream: demo, model: demo-fast }]
  - id: unpriced
    context_tokens: 128000
    max_output_tokens: 4096
    lanes: [{ upstream: demo, model: demo-fast }]
`

/** A server that shares its event loop with a test, or a machine with all of them, is late: only walks of overload look at that. */
export const withoutStrain = (config: string): string =>
  config.includes('overload:') ? config : `${config}\noverload: { loop_delay: off }\n`

/** For tests that break lanes again and again, and need every request to reach its lane. */
export const EVERY_LANE_ASKED = 'routing: { put_aside: false, retry_percent: off }\n'

/** The same with plans: a token of `paid` is a thousandth of a dollar, so `pro` has 200 of them every five hours. */
export const PLANS_CONFIG = `${TEST_CONFIG}
plans:
  - { id: lean, models: [paid], windows: [{ every: 5h, allowance: "0.10" }, { every: month, allowance: "0.50" }] }
  - { id: pro, models: [paid, calm, "builder-*"], windows: [{ every: 5h, allowance: "0.20" }, { every: month, allowance: "1.00" }] }
  - { id: wide, models: ["*"], windows: [{ every: 5h, allowance: "2.00" }, { every: week, allowance: "2.00" }] }
`
