import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { loaded, placesOf, problemsOf } from '../../test/fixtures/config/config.ts'

const far = (keys: string) => `upstreams: [{ id: a, wire: chat, ${keys} }]`

describe('an upstream on the network', () => {
  test.each([
    'base_url: "http://10.0.0.7:8000/v1", allow_private: true',
    'base_url: "http://localhost:11434/v1", allow_private: true, dialect: ollama',
    'base_url: "https://[::1]/v1", allow_private: true',
    'base_url: "https://api.moonshot.ai/v1", dialect: moonshotai, api_key: sk-1',
    'base_url: "https://a.b/v1", headers: { X-Team: seven, Authorization: "Basic YQ==" }',
    'base_url: "https://a.b/v1", timeouts: { first_byte: 15m }',
    'base_url: "https://api.githubcopilot.com", dialect: github-copilot',
    'base_url: "https://aiplatform.googleapis.com/v1/projects/p/locations/global/endpoints/openapi", dialect: google-vertex',
    'base_url: "https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1", dialect: bedrock',
  ])('%s', (keys) => {
    expect(placesOf({ yaml: far(keys) })).toEqual([])
  })

  test.each([
    ['base_url: "http://a.b/v1"', 'base_url', /plain http/, /allow_private/],
    ['base_url: "https://10.0.0.7/v1"', 'base_url', /private/, /allow_private/],
    ['base_url: "https://0x7f.1/v1"', 'base_url', /private/, /allow_private/],
    ['base_url: "http://169.254.169.254/v1", allow_private: true', 'base_url', /credentials/, /public/],
    ['base_url: "https://a.b/v1", headers: { Host: c.d }', 'headers', /header host is set by Millrace/, /Leave/],
    ['base_url: "https://a.b/v1", headers: { Transfer-Encoding: x }', 'headers', /transfer-encoding/, /Leave/],
    ['base_url: "https://a.b/v1", headers: { X-A: b, x-a: c }', 'headers', /x-a is written twice/, /Leave/],
    ['base_url: "https://a.b/v1", api_key: "sk 1"', 'api_key', /without spaces/, /Remove/],
    ['base_url: "https://a.b/v1", api_key: "sk-1\\nx: y"', 'api_key', /without spaces/, /Remove/],
    ['base_url: "https://a.b/v1", headers: { x: "a\\r\\nb: c" }', 'headers.x', /one line/, /Write/],
    ['base_url: "https://a.b/v1", headers: { "a b": c }', 'headers.a b', /name of a header/, /Write/],
    ['base_url: "https://a.b/v1", api_version: "2023-06-01"', 'api_version', /version in base_url/, /Leave/],
    ['base_url: "https://a.b/v1", on_prefix_mismatch: drop', 'on_prefix_mismatch', /no such setting/, /Leave/],
    ['base_url: "https://a.b/v1", api_version: "1"', 'api_version', /a day such as/, /Write/],
    ['allow_private: true', 'base_url', /needs an address/, /Add base_url/],
    [
      'base_url: "https://a.b", dialect: bedrock',
      'base_url',
      /ends in its version/,
      /Did you mean https:\/\/a\.b\/v1\?/,
    ],
    ['base_url: "https://a.b/chat/completions", dialect: github-copilot', 'base_url', /version/, /endpoint/],
  ])('%s is refused', (keys, key, message, cure) => {
    const [problem, ...more] = problemsOf({ yaml: far(keys) })
    expect(more).toEqual([])
    expect([problem?.path, problem?.message, problem?.cure]).toEqual([
      `upstreams[0].${key}`,
      expect.stringMatching(message),
      expect.stringMatching(cure),
    ])
    expect(problem?.message).not.toMatch(/sk[ -]1/)
  })
})

test('Claude on Vertex AI is refused, because its API is not supported', () => {
  const yaml =
    'upstreams: [{ id: a, wire: anthropic, dialect: google-vertex, base_url: "https://a.b/v1/publishers/anthropic" }]'
  expect(problemsOf({ yaml }).map(({ path, message }) => [path, message])).toEqual([
    ['upstreams[0].dialect', expect.stringMatching(/rawPredict/)],
  ])
})

test.each(['dialect: vllm', 'allow_private: true', 'timeouts: { idle: 5s }', 'headers: { a: b }'])(
  'the demo refuses %s',
  (keys) => {
    const key = keys.slice(0, keys.indexOf(':'))
    const problems = problemsOf({ yaml: `upstreams: [{ id: demo, wire: demo, ${keys} }]` })
    expect(problems.map(({ path }) => path)).toEqual([`upstreams[0].${key}`])
    expect(problems[0]?.message).toMatch(/not called over the network/)
  },
)

test('credentials in the configuration are secrets', () => {
  const yaml = far(`base_url: "https://a.b/v1", api_key: "\${KEY}", headers: { x-proxy: "\${KEY}" }`)
  const { config } = loaded({ yaml, environment: { KEY: 'sk-12345' } })
  const [upstream] = config.upstreams
  expect([upstream?.apiKey?.reveal(), upstream?.headers.get('x-proxy')?.reveal()]).toEqual(['sk-12345', 'sk-12345'])
  const printed = inspect(config, { depth: 9, showHidden: true }) + JSON.stringify(config, (_, value) => mapped(value))
  expect(printed).toContain('[secret]')
  expect(printed).not.toContain('sk-12345')
})

const mapped = (value: unknown): unknown => (value instanceof Map ? [...value] : value)
