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
