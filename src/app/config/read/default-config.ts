/**
 * What stands when there is no file: a model that needs no network, with a small real price, so that the first request
 * already shows a charge. Written in the file's own words and read by the same road.
 */
export const DEFAULT_CONFIG = {
  upstreams: [{ id: 'demo', wire: 'demo' }],
  models: [
    demoModel('demo', 'Streams a made-up answer, word by word.'),
    demoModel('demo-tools', 'Asks for a tool call.'),
  ],
}

function demoModel(id: string, description: string) {
  return {
    id,
    description,
    efforts: ['low', 'medium', 'high'],
    context_tokens: 128_000,
    max_output_tokens: 8192,
    price: { input: '0.10', cached_input: '0.025', output: '0.40' },
    lanes: [{ upstream: 'demo', model: id }],
  }
}
