import { describe, expect, it, test } from 'vitest'
import { loaded } from '../../test/fixtures/config/config.ts'
import { fromLitellm, perMillion } from './from-litellm.ts'

const CONFIG = `
model_list:
  - model_name: gpt-4o
    litellm_params:
      model: openai/gpt-4o
      api_key: os.environ/OPENAI_API_KEY
      rpm: 60
  - model_name: gpt-4o
    litellm_params:
      model: azure/our-deployment
      api_base: https://ours.openai.azure.com/
      api_key: os.environ/AZURE_KEY
      order: 2
  - model_name: claude
    litellm_params:
      model: anthropic/claude-opus-4-0
      api_key: sk-ant-a-real-secret
  - model_name: local
    litellm_params:
      model: hosted_vllm/qwen/qwen3
      api_base: http://10.0.0.7:8000
      input_cost_per_token: 2.5e-07
      output_cost_per_token: 0.000001
    model_info:
      max_input_tokens: 32768
      max_output_tokens: 4096
  - model_name: "*"
    litellm_params: { model: "openrouter/*" }
  - model_name: old
    litellm_params: { model: bedrock/anthropic.claude-v2 }
litellm_settings:
  drop_params: true
  fallbacks: [{ claude: [gpt-4o] }]
general_settings:
  master_key: sk-1234
`

describe('the configuration of a LiteLLM proxy', () => {
  const { yaml, models, notes } = fromLitellm(CONFIG)

  it('becomes one that loads, with its lanes, sizes and prices', () => {
    const { config } = loaded({
      yaml,
      environment: { OPENAI_API_KEY: 'a', AZURE_KEY: 'b', MILLRACE_ANTHROPIC_KEY: 'c' },
    })
    expect(models).toBe(3)
    expect(config.models.map(({ id }) => id)).toEqual(['gpt-4o', 'claude', 'local'])
    const [gpt, claude, local] = config.models
    const lanesOf = (model: typeof gpt) =>
      model?.lanes.map(({ upstream, model: name, priority }) => [upstream, name, priority])
    expect(lanesOf(gpt)).toEqual([
      ['openai', 'gpt-4o', 1],
      ['azure', 'our-deployment', 2],
    ])
    expect(lanesOf(claude)).toEqual([
      ['anthropic', 'claude-opus-4-0', 1],
      ['openai', 'gpt-4o', 2],
      ['azure', 'our-deployment', 3],
    ])
    expect(local).toMatchObject({ contextTokens: 32_768, maxOutputTokens: 4096 })
    expect(yaml).toContain('input: "0.25"')
    expect(yaml).toContain('output: "1"')
  })

  it('never hands a credential on, and names the variable for it', () => {
    expect(yaml).not.toContain('a-real-secret')
    expect(yaml).not.toContain('sk-1234')
    expect(notes.join('\n')).toContain('environment variable MILLRACE_ANTHROPIC_KEY')
  })

  it('names everything that it leaves out, in the file too', () => {
    const said = notes.join('\n')
    for (const left of ['(gpt-4o): left out rpm', '(*) is a wildcard', 'bedrock', 'drop_params', 'master_key']) {
      expect(said).toContain(left)
    }
    for (const note of notes) expect(yaml).toContain(`# - ${note}`)
  })

  it('cannot write a setting through a note', () => {
    const hostile = fromLitellm(`${CONFIG}\nrouter_settings:\n  "a\\nupstreams: []": 1\n`)
    expect(hostile.yaml.match(/^upstreams:/gm)).toHaveLength(1)
  })
})

test('a key of one server never goes to another', () => {
  const { yaml } = fromLitellm(`
base: &base { api_base: "http://10.0.0.5:8000/v1", api_key: none }
model_list:
  - { model_name: own, litellm_params: { <<: *base, model: openai/qwen } }
  - { model_name: theirs, litellm_params: { model: openai/gpt-4o } }
`)
  const [own = '', theirs = ''] = yaml.slice(yaml.indexOf('  - id: openai')).split('  - id: openai-2')
  expect(own).toContain('http://10.0.0.5:8000/v1')
  expect(own).not.toContain('OPENAI_API_KEY')
  expect(theirs).toContain('${OPENAI_API_KEY}')
})

test('what is changed or cannot be said is noted', () => {
  const { yaml, notes } = fromLitellm(`
include: [more.yaml]
model_list:
  - { model_name: a, litellm_params: { model: openai/gpt-4o, weight: 0.9, input_cost_per_token: 1e-6 } }
  - { model_name: a, litellm_params: { model: openai/gpt-4o } }
  - { model_name: b, litellm_params: { model: constructor/x } }
  - { model_name: c, litellm_params: { model: hosted_vllm/x, api_base: os.environ/OWN_URL } }
`)
  const said = notes.join('\n')
  for (const part of ['include', 'weight 0.9', 'only one of its two prices', 'repeats openai/gpt-4o', 'constructor']) {
    expect(said).toContain(part)
  }
  expect(yaml).toContain('base_url: "${OWN_URL}"')
})

test('a price a token is one a million, exactly', () => {
  expect(
    ['2.5e-06', '0.0000025', '0.000015', '1E-7', '3', '0', '2.5e-07', '1.234567890123e-6', 'free', ''].map(perMillion),
  ).toEqual(['2.5', '2.5', '15', '0.1', '3000000', '0', '0.25', '1.234567890123', undefined, undefined])
})

test.each([['x: 1'], ['[]'], ['model_list: []'], ['model_list: [{ model_name: a }]']])(
  'what is no configuration of LiteLLM is refused: %s',
  (text) => {
    expect(() => fromLitellm(text)).toThrow(/no LiteLLM configuration|no model could be converted/)
  },
)
