/** A gateway in front of the mock provider, with limits that no request reaches. */
export function mockConfig(upstreamPort, models, { maxOutputTokens, plans = '' }) {
  const entries = models.map(
    (model) => `  - id: ${model}
    context_tokens: 128000
    max_output_tokens: ${maxOutputTokens}
    price: { input: "0.10", cached_input: "0.02", output: "0.40" }
    lanes: [{ upstream: mock, model: ${model} }]`,
  )
  return `server: { metrics_port: 0 }
upstreams: [{ id: mock, wire: chat, base_url: http://127.0.0.1:${upstreamPort}/v1, allow_private: true }]
models:
${entries.join('\n')}
${plans}limits: { key: { requests_per_minute: 100000000, tokens_per_minute: 100000000000, concurrent: 10000 } }
`
}
