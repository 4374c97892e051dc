// Facts about Claude models that the price package lacks. `minimal` is listed, because the next lower effort would disable thinking.
// Each group of traits names its `source`.

const READS = ['text', 'image', 'file']

/** Models with a thinking budget. The budgets are modest, because they are part of the output cap. */
const BUDGETS = { none: 'disabled', minimal: 1024, low: 4000, medium: 12_000, high: 24_000 }
const WORDS = { minimal: 'low', low: 'low', medium: 'medium', high: 'high', xhigh: 'xhigh', max: 'max' }

const CAPABILITIES = 'capabilities as @ai-sdk/anthropic 3.0.138 lists them'

export default {
  dialect: 'anthropic',
  wires: ['anthropic'],
  pricesOf: 'anthropic',
  traits: {
    'no-thinking': {
      source: `Vendor's documentation: models before extended thinking; ${CAPABILITIES}.`,
      efforts: {},
      json_schema: 'tool',
    },
    'budgets-tool': {
      source: `Vendor's documentation of extended thinking: budget_tokens; ${CAPABILITIES}: no native schema yet.`,
      efforts: BUDGETS,
      sampling: true,
      forced_tool_choice: true,
      json_schema: 'tool',
    },
    budgets: {
      source: `Vendor's documentation of extended thinking: budget_tokens; ${CAPABILITIES}.`,
      efforts: BUDGETS,
      sampling: true,
      forced_tool_choice: true,
      json_schema: 'native',
    },
    'adaptive-4-6': {
      source: `Vendor's page on effort: max from 4.6 on, xhigh only after it; ${CAPABILITIES}.`,
      efforts: { none: 'disabled', minimal: 'low', low: 'low', medium: 'medium', high: 'high', max: 'max' },
      sampling: true,
      forced_tool_choice: true,
      json_schema: 'native',
    },
    adaptive: {
      source: `Vendor's page on effort; its changes of 4.7: no sampling parameters; ${CAPABILITIES}.`,
      efforts: { none: 'disabled', ...WORDS },
      sampling: false,
      forced_tool_choice: true,
      json_schema: 'native',
    },
    'always-thinks': {
      source: `Thinking cannot be disabled, tools can be forced: ${CAPABILITIES}.`,
      efforts: WORDS,
      sampling: false,
      forced_tool_choice: true,
      json_schema: 'native',
    },
    'always-thinks-freely': {
      source: `Thinking cannot be disabled, tools cannot be forced: ${CAPABILITIES}.`,
      efforts: WORDS,
      sampling: false,
      forced_tool_choice: false,
      json_schema: 'native',
    },
    'between-tools': {
      source: `The least is to think between tools, tools cannot be forced: ${CAPABILITIES}.`,
      efforts: { none: 'between_tools', ...WORDS },
      sampling: false,
      forced_tool_choice: false,
      json_schema: 'native',
    },
  },
  models: {
    'claude-3-haiku-20240307': { traits: 'no-thinking', max_output_tokens: 4096, inputs: ['text', 'image'] },
    'claude-sonnet-4-0': {
      also: ['claude-sonnet-4-20250514'],
      traits: 'budgets-tool',
      max_output_tokens: 64_000,
      inputs: READS,
    },
    'claude-opus-4-0': {
      also: ['claude-opus-4-20250514'],
      traits: 'budgets-tool',
      max_output_tokens: 32_000,
      inputs: READS,
    },
    'claude-opus-4-1': {
      also: ['claude-opus-4-1-20250805'],
      traits: 'budgets',
      max_output_tokens: 32_000,
      inputs: READS,
    },
    'claude-sonnet-4-5': {
      also: ['claude-sonnet-4-5-20250929'],
      traits: 'budgets',
      max_output_tokens: 64_000,
      inputs: READS,
    },
    'claude-haiku-4-5': {
      also: ['claude-haiku-4-5-20251001'],
      traits: 'budgets',
      max_output_tokens: 64_000,
      inputs: READS,
    },
    'claude-opus-4-5': {
      also: ['claude-opus-4-5-20251101'],
      traits: 'budgets',
      max_output_tokens: 64_000,
      inputs: READS,
    },
    'claude-sonnet-4-6': { traits: 'adaptive-4-6', max_output_tokens: 128_000, inputs: READS },
    'claude-opus-4-6': { traits: 'adaptive-4-6', max_output_tokens: 128_000, inputs: READS },
    'claude-opus-4-7': { traits: 'adaptive', max_output_tokens: 128_000, inputs: READS },
    'claude-opus-4-8': { traits: 'adaptive', max_output_tokens: 128_000, inputs: READS },
    'claude-sonnet-5': { traits: 'adaptive', max_output_tokens: 128_000, inputs: READS },
    'claude-opus-5': { traits: 'adaptive', max_output_tokens: 128_000, inputs: READS },
    'claude-haiku-5-5': { traits: 'adaptive', max_output_tokens: 128_000, inputs: READS, unpriced: true },
    'claude-sonnet-5-5': { traits: 'between-tools', max_output_tokens: 128_000, inputs: READS, unpriced: true },
    'claude-opus-5-5': { traits: 'always-thinks-freely', max_output_tokens: 128_000, inputs: READS },
    'claude-fable-5': { traits: 'always-thinks', max_output_tokens: 128_000, inputs: READS },
    'claude-fable-5-1': { traits: 'always-thinks-freely', max_output_tokens: 128_000, inputs: READS },
  },
}
