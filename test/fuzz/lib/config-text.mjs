/** Models that answer at once, and nothing that would refuse by a limit what is to be read. */
export const CONFIG_TEXT = `
server: { metrics_port: 0 }
limits: { address: { refused_per_minute: off } }
upstreams:
  - { id: demo, wire: demo }
models:
  - id: fuzz
    efforts: [none, low, high]
    inputs: [text, image, file]
    input_tokens_max: { image: 1000, file: 2000 }
    context_tokens: 128000
    max_output_tokens: 4096
    choices_max: 3
    price: { input: "0.173456", output: "0.731579", per_request: "0.000001003" }
    lanes: [{ upstream: demo, model: demo-fast }]
telemetry: { log: { format: json, level: error } }
`
