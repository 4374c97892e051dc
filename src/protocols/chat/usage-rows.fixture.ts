import type { Fields } from '../../lib/types.ts'

/** Where in a stream a server tells what it has counted; in a JSON answer it stands in the place that is named last. */
export type UsagePlace = 'a chunk of its own' | 'the last chunk' | 'every chunk' | 'x_groq' | 'the choice' | 'timings'

/** How one server counts: by its dialect, as it was recorded or as the document says. */
export interface UsageRow {
  readonly dialect: string
  readonly place: UsagePlace
  readonly told: Fields
  /** Whole prompt, cached, written to the cache, whole output, reasoning. */
  readonly means: readonly [input: number, cached: number, cacheWrite: number, output: number, reasoning: number]
  readonly source: string
  /** The total has more than the classes, and nothing explains it. */
  readonly doubtful?: true
}

const cached = (tokens: number) => ({ prompt_tokens_details: { cached_tokens: tokens } })
const thought = (tokens: number) => ({ completion_tokens_details: { reasoning_tokens: tokens } })
const counts = (prompt: number, completion: number, total = prompt + completion) => ({
  ...{ prompt_tokens: prompt, completion_tokens: completion, total_tokens: total },
})

export const USAGE_ROWS: readonly UsageRow[] = [
  {
    dialect: 'generic',
    place: 'a chunk of its own',
    told: { ...counts(20, 9), ...cached(8), ...thought(4) },
    means: [20, 8, 0, 9, 4],
    source: 'The protocol: usage chunk with `include_usage`, details inside of their totals.',
  },
  {
    dialect: 'generic',
    place: 'a chunk of its own',
    told: { ...counts(21, 0, 81), ...thought(60) },
    means: [21, 0, 0, 60, 60],
    source: 'Issues of gateways that speak Chat before Gemini: thoughts are in the total and in the details only.',
  },
  {
    dialect: 'generic',
    place: 'a chunk of its own',
    told: counts(20, 198, 623),
    means: [20, 0, 0, 198, 0],
    source: 'The same: thoughts are in the total only. Nothing says what the rest is: in doubt, and charged to nobody.',
    doubtful: true,
  },
  {
    dialect: 'generic',
    place: 'a chunk of its own',
    told: {
      ...counts(50, 5),
      prompt_tokens_details: { cached_tokens: 10, cache_creation_tokens: 30 },
      cache_creation_input_tokens: 30,
    },
    means: [50, 10, 30, 5, 0],
    source: 'Gateways that speak Chat before Anthropic: what was written to the cache, under either name.',
  },
  {
    dialect: 'generic',
    place: 'a chunk of its own',
    told: {
      ...counts(50, 5, 95),
      prompt_tokens_details: { cached_tokens: 10 },
      cache_creation_input_tokens: 30,
    },
    means: [90, 10, 30, 5, 0],
    source: 'The same, where what was read from the cache and written to it stands beside the prompt.',
  },
  {
    dialect: 'openai',
    place: 'a chunk of its own',
    told: { ...counts(86, 12), ...cached(64), ...thought(10) },
    means: [86, 64, 0, 12, 10],
    source: 'API reference; recorded.',
  },
  {
    dialect: 'azure',
    place: 'a chunk of its own',
    told: { ...counts(11, 7), ...cached(0), ...thought(0) },
    means: [11, 0, 0, 7, 0],
    source: 'API reference: as OpenAI.',
  },
  {
    dialect: 'deepseek',
    place: 'the last chunk',
    told: {
      ...counts(339, 83),
      ...cached(320),
      ...thought(39),
      ...{ prompt_cache_hit_tokens: 320, prompt_cache_miss_tokens: 19 },
    },
    means: [339, 320, 0, 83, 39],
    source: 'Recorded; API reference: hits and misses sum up to the prompt.',
  },
  {
    dialect: 'deepseek',
    place: 'a chunk of its own',
    told: { ...counts(339, 83), prompt_cache_hit_tokens: 320, prompt_cache_miss_tokens: 19 },
    means: [339, 320, 0, 83, 0],
    source: 'API reference, without the details of OpenAI.',
  },
  {
    dialect: 'groq',
    place: 'x_groq',
    told: { ...counts(210, 15), ...thought(6), queue_time: 0.04, total_time: 0.05 },
    means: [210, 0, 0, 15, 6],
    source: 'Recorded; API reference: `x_groq.usage` of the last chunk.',
  },
  {
    dialect: 'mistral',
    place: 'the last chunk',
    told: counts(13, 8),
    means: [13, 0, 0, 8, 0],
    source: 'Recorded.',
  },
  {
    dialect: 'mistral',
    place: 'the last chunk',
    told: { ...counts(20, 9), num_cached_tokens: 12, ...cached(0), prompt_token_details: { cached_tokens: 12 } },
    means: [20, 12, 0, 9, 0],
    source: 'Fixtures of the AI SDK: three names for what was cached.',
  },
  {
    dialect: 'xai',
    place: 'a chunk of its own',
    told: { ...counts(12, 1, 303), ...cached(11), ...thought(290), cost_in_usd_ticks: 1_466_250 },
    means: [12, 11, 0, 291, 290],
    source: 'Recorded: reasoning beside the completion, and in the total.',
  },
  {
    dialect: 'xai',
    place: 'every chunk',
    told: { prompt_tokens: 5, completion_tokens: 1, ...cached(11), ...thought(290) },
    means: [16, 11, 0, 291, 290],
    source: 'The AI SDK’s reading of it: more cached than the prompt is beside the prompt.',
  },
  {
    dialect: 'moonshot',
    place: 'the choice',
    told: { ...counts(100, 10), cached_tokens: 80 },
    means: [100, 80, 0, 10, 0],
    source: 'API reference: usage in the last choice, `cached_tokens` at its top level; recorded.',
  },
  {
    dialect: 'moonshot',
    place: 'the last chunk',
    told: { ...counts(951, 6000, 6952), ...cached(60), ...thought(6001) },
    means: [951, 60, 0, 6001, 6001],
    source: 'Recorded by the AI SDK: one token more was thought than written, and is in the total.',
  },
  {
    dialect: 'alibaba',
    place: 'a chunk of its own',
    told: {
      ...counts(295, 22),
      prompt_tokens_details: { cached_tokens: 100, cache_creation_input_tokens: 150 },
    },
    means: [295, 100, 150, 22, 0],
    source: 'Recorded; documents on its cache: what was written is in the details of the prompt.',
  },
  {
    dialect: 'openrouter',
    place: 'a chunk of its own',
    told: {
      ...counts(194, 2),
      ...{ prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 100, audio_tokens: 0 }, ...thought(1) },
      ...{ cost: 0.95, cost_details: { upstream_inference_cost: 19 }, is_byok: false },
    },
    means: [194, 0, 100, 2, 1],
    source: 'API reference, usage accounting; what it says of its own price is ignored.',
  },
  {
    dialect: 'together',
    place: 'the last chunk',
    told: counts(40, 6),
    means: [40, 0, 0, 6, 0],
    source: 'As the protocol; nothing else is known.',
  },
  {
    dialect: 'fireworks',
    place: 'the last chunk',
    told: { ...counts(40, 6), ...cached(32) },
    means: [40, 32, 0, 6, 0],
    source: 'As the protocol; nothing else is known.',
  },
  {
    dialect: 'vllm',
    place: 'a chunk of its own',
    told: { ...counts(18, 7), prompt_tokens_details: null },
    means: [18, 0, 0, 7, 0],
    source: 'Server documents: only with `include_usage`.',
  },
  {
    dialect: 'vllm',
    place: 'every chunk',
    told: counts(18, 7),
    means: [18, 0, 0, 7, 0],
    source: 'Server documents: `continuous_usage_stats`, each more than the last.',
  },
  {
    dialect: 'ollama',
    place: 'a chunk of its own',
    told: counts(26, 11),
    means: [26, 0, 0, 11, 0],
    source: 'Documents on compatibility with OpenAI: `include_usage`.',
  },
  {
    dialect: 'llamacpp',
    place: 'a chunk of its own',
    told: { ...counts(32, 23), ...cached(7) },
    means: [32, 7, 0, 23, 0],
    source: 'Server README.',
  },
  {
    dialect: 'llamacpp',
    place: 'timings',
    told: { cache_n: 7, prompt_n: 25, prompt_ms: 30.9, predicted_n: 23, predicted_ms: 661 },
    means: [32, 7, 0, 23, 0],
    source: 'Server README: the prompt is what was kept and what was read; only where no usage is told.',
  },
  {
    dialect: 'lmstudio',
    place: 'a chunk of its own',
    told: { ...counts(182, 61), ...thought(48) },
    means: [182, 0, 0, 61, 48],
    source: 'As the protocol; nothing else is known of Chat.',
  },
  {
    dialect: 'github-copilot',
    place: 'the last chunk',
    told: { ...counts(1200, 64), ...cached(1024), copilot_usage: { total_nano_aiu: 5 } },
    means: [1200, 1024, 0, 64, 0],
    source: 'Public clients, which read `prompt_tokens_details`; no reference. Its own price is ignored.',
  },
  {
    dialect: 'google-vertex',
    place: 'the last chunk',
    told: { ...counts(20, 9, 46), ...thought(17), extra_properties: { google: { traffic_type: 'ON_DEMAND' } } },
    means: [20, 0, 0, 26, 17],
    source: 'As Gemini counts: thoughts beside the completion, and in the total.',
  },
  {
    dialect: 'anthropic-compat',
    place: 'a chunk of its own',
    told: { ...counts(31, 12), prompt_tokens_details: {}, completion_tokens_details: {} },
    means: [31, 0, 0, 12, 0],
    source: 'OpenAI SDK compatibility: details are always empty.',
  },
  {
    dialect: 'vercel-gateway',
    place: 'a chunk of its own',
    told: { ...counts(60, 30), ...cached(40), ...thought(11), cost: 0.002, is_byok: false },
    means: [60, 40, 0, 30, 11],
    source: 'API docs, Chat Completions; what it says of its own price is ignored.',
  },
  {
    dialect: 'bedrock',
    place: 'a chunk of its own',
    told: { ...counts(74, 17), ...cached(0) },
    means: [74, 0, 0, 17, 0],
    source: 'API docs, Chat Completions API; LiteLLM #40775 shows one.',
  },
]
