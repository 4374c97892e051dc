import type { Fields } from '../../lib/types.ts'

/** How one server that speaks Responses counts. */
export interface ResponsesUsageRow {
  readonly dialect: string
  readonly told: Fields
  /** Whole input, cached, written to the cache, whole output, reasoning. */
  readonly means: readonly [input: number, cached: number, cacheWrite: number, output: number, reasoning: number]
  readonly source: string
}

const counts = (input: number, output: number, total = input + output) => ({
  ...{ input_tokens: input, output_tokens: output, total_tokens: total },
})
const details = (cached: number, reasoning: number, over: object = {}) => ({
  input_tokens_details: { cached_tokens: cached, ...over },
  output_tokens_details: { reasoning_tokens: reasoning },
})

export const RESPONSES_USAGE_ROWS: readonly ResponsesUsageRow[] = [
  { dialect: 'openai', told: { ...counts(84, 39), ...details(0, 15) }, means: [84, 0, 0, 39, 15], source: 'Recorded.' },
  {
    dialect: 'openai',
    told: { ...counts(1500, 80), ...details(1024, 64, { cache_write_tokens: 300 }) },
    means: [1500, 1024, 300, 80, 64],
    source: 'API reference: what was written to the cache is among the details.',
  },
  { dialect: 'azure', told: { ...counts(45, 24), ...details(0, 0) }, means: [45, 0, 0, 24, 0], source: 'Recorded.' },
  {
    dialect: 'deepseek',
    told: { ...counts(18, 119), ...details(0, 101) },
    means: [18, 0, 0, 119, 101],
    source: 'Recorded.',
  },
  {
    dialect: 'lmstudio',
    told: { ...counts(182, 61), ...details(2, 48) },
    means: [182, 2, 0, 61, 48],
    source: 'Recorded.',
  },
  {
    dialect: 'xai',
    told: { ...counts(125, 48), ...details(98, 0) },
    means: [125, 98, 0, 48, 0],
    source: 'API reference, prompt caching.',
  },
  {
    dialect: 'openrouter',
    told: { ...counts(10, 25), cost: 0.1, is_byok: false },
    means: [10, 0, 0, 25, 0],
    source: 'SDK reference; without details.',
  },
  {
    dialect: 'generic',
    told: { ...counts(21, 0, 81), ...details(0, 60) },
    means: [21, 0, 0, 60, 60],
    source: 'Issues of gateways before Gemini: thoughts are in the total and in the details only.',
  },
]
