// Facts about Gemini models that the price package lacks. Each group of traits names its `source`.

const READS = ['text', 'image', 'file']
const LEVELS = "Vendor's page on thinking levels"
const BUDGETS =
  "Vendor's page on thinking budgets: 128 to 32768 for pro, 0 to 24576 for flash; no signature is demanded"

const FLASH_3 = { traits: 'levels', max_output_tokens: 65_536, inputs: READS }

export default {
  dialect: 'google',
  wires: ['gemini'],
  pricesOf: 'google',
  traits: {
    'budgets-pro': {
      source: `${BUDGETS}; pro cannot do without.`,
      efforts: { none: 128, minimal: 1024, low: 1024, medium: 8192, high: 24_576 },
      signed_calls: false,
    },
    'budgets-flash': {
      source: `${BUDGETS}.`,
      efforts: { none: 0, minimal: 1024, low: 1024, medium: 8192, high: 24_576 },
      signed_calls: false,
    },
    'levels-3-pro': {
      source: `${LEVELS}: 3 Pro knows low and high; calls come back with their thought signature or are refused.`,
      efforts: { low: 'low', high: 'high' },
      signed_calls: true,
    },
    'levels-pro': {
      source: `${LEVELS}: 3.1 Pro knows medium as well, and not minimal; signatures as 3 Pro.`,
      efforts: { low: 'low', medium: 'medium', high: 'high' },
      signed_calls: true,
    },
    levels: {
      source: `${LEVELS}: Flash knows all four; signatures as 3 Pro.`,
      efforts: { minimal: 'minimal', low: 'low', medium: 'medium', high: 'high' },
      signed_calls: true,
    },
    'gemma-3': {
      source:
        'Gemma 3 does not think, and has no systemInstruction: @ai-sdk/google 3.0.141 puts it in front of the first message.',
      efforts: {},
      system_prompt: false,
    },
    gemma: {
      source: 'Gemma has no systemInstruction: @ai-sdk/google 3.0.141 puts it in front of the first message.',
      system_prompt: false,
    },
  },
  models: {
    'gemini-2.5-pro': { traits: 'budgets-pro', max_output_tokens: 65_536, inputs: READS, context_tokens: 1_048_576 },
    'gemini-2.5-flash': { traits: 'budgets-flash', max_output_tokens: 65_536, inputs: READS },
    'gemini-2.5-flash-lite': { traits: 'budgets-flash', max_output_tokens: 65_536, inputs: READS },
    'gemini-3-pro-preview': {
      traits: 'levels-3-pro',
      max_output_tokens: 65_536,
      inputs: READS,
      context_tokens: 1_048_576,
    },
    'gemini-3.1-pro-preview': {
      also: ['gemini-3.1-pro-preview-customtools'],
      traits: 'levels-pro',
      context_tokens: 1_048_576,
      max_output_tokens: 65_536,
      inputs: READS,
    },
    'gemini-3-flash-preview': FLASH_3,
    'gemini-3.1-flash-lite': { ...FLASH_3, also: ['gemini-3.1-flash-lite-preview'] },
    'gemini-3.5-flash': FLASH_3,
    'gemini-3.5-flash-lite': FLASH_3,
    'gemini-3.6-flash': FLASH_3,
    'gemini-3.7-flash': FLASH_3,
    'gemini-3.8-flash': FLASH_3,
    'gemma-3-1b-it': { traits: 'gemma-3' },
    'gemma-3-4b-it': { traits: 'gemma-3' },
    'gemma-3-12b-it': { traits: 'gemma-3' },
    'gemma-3-27b-it': { traits: 'gemma-3' },
    'gemma-3n-e2b-it': { traits: 'gemma-3' },
    'gemma-3n-e4b-it': { traits: 'gemma-3' },
    'gemma-4-26b-a4b-it': { traits: 'gemma' },
    'gemma-4-31b-it': { traits: 'gemma' },
  },
}
