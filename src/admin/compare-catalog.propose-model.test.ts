import { expect, test } from 'vitest'
import { knownModel, knownModels } from '../catalog/known-models.ts'
import { proposeModel } from './compare-catalog.ts'

test('a proposal is an entry of the configuration with unknown values as comments', () => {
  expect(proposeModel(knownModel('openai', 'gpt-5.1')!, 'gpt-5.1-2025-11-13')).toBe(
    `models:
  - id: gpt-5.1-2025-11-13
    efforts: [none, low, medium, high]
    inputs: [text]   # also supports image and file: see input_tokens_max
    context_tokens: 400000
    max_output_tokens: 128000
    price:   # the provider's price on ${knownModels().asOf}, in USD per million tokens: set your own
      input: "1.25"
      cached_input: "0.125"
      output: "10.00"
    lanes:
      - { upstream: openai, model: gpt-5.1-2025-11-13 }
`,
  )
  const proposal = proposeModel(knownModel('google', 'gemma-4-31b-it')!, 'gemma-4-31b-it')
  expect(proposal).toContain('# max_output_tokens: unknown')
  expect(proposal).toContain('# price: unknown')
})

test('tiers are included, and a vendor prefix stays with the lane', () => {
  const proposal = proposeModel(knownModel('openrouter', 'anthropic/claude-sonnet-5')!, 'anthropic/claude-sonnet-5')
  expect(proposal).toContain('- id: claude-sonnet-5\n')
  expect(proposal).toContain('{ upstream: openrouter, model: anthropic/claude-sonnet-5 }')
  expect(proposeModel(knownModel('google', 'gemini-2.5-pro')!, 'gemini-2.5-pro')).toContain(
    '- { above_input_tokens: 200000, input: "2.50", cached_input: "0.25", output: "15.00" }',
  )
})

test('an announced price is a comment', () => {
  expect(proposeModel(knownModel('google', 'gemini-3.6-flash')!, 'gemini-3.6-flash')).toContain(
    '# the provider has announced another price from 2027-01-01 on',
  )
})
