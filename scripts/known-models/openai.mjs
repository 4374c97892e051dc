// Facts about OpenAI's models that the price package lacks. Each group of traits names its `source`.

const SEES = ['text', 'image', 'file']
const words = (...efforts) => Object.fromEntries(efforts.map((effort) => [effort, effort]))

const REFERENCE = "Vendor's API reference, reasoning effort"
const REFUSED = 'sampling parameters are refused'
const DEPENDS = 'sampling parameters are taken at effort none only, so that nothing is said of them here'

const plain = (max_output_tokens, more = {}) => ({ traits: 'no-reasoning', max_output_tokens, inputs: SEES, ...more })
const dated = (id, ...days) => days.map((day) => `${id}-${day}`)

export default {
  dialect: 'openai',
  wires: ['chat', 'responses'],
  pricesOf: 'openai',
  traits: {
    'no-reasoning': { source: 'Not among the reasoning models of @ai-sdk/openai 3.0.141.', efforts: {} },
    'o-series': {
      source: `${REFERENCE}: before gpt-5.1 there is no none; ${REFUSED}.`,
      efforts: words('low', 'medium', 'high'),
      sampling: false,
    },
    'gpt-5': {
      source: `${REFERENCE}: minimal came with gpt-5, none with gpt-5.1; ${REFUSED}.`,
      efforts: words('minimal', 'low', 'medium', 'high'),
      sampling: false,
    },
    'gpt-5-pro': {
      source: `${REFERENCE}: gpt-5-pro knows high only; ${REFUSED}.`,
      efforts: words('high'),
      sampling: false,
    },
    'gpt-5.1': {
      source: `${REFERENCE}: none, low, medium and high; ${DEPENDS}.`,
      efforts: words('none', 'low', 'medium', 'high'),
    },
    'gpt-5.1-codex-max': {
      source: `${REFERENCE}: xhigh came with gpt-5.1-codex-max; ${DEPENDS}.`,
      efforts: words('low', 'medium', 'high', 'xhigh'),
    },
    'gpt-5.2': {
      source: `${REFERENCE}: xhigh for all after gpt-5.1-codex-max; ${DEPENDS}.`,
      efforts: words('none', 'low', 'medium', 'high', 'xhigh'),
    },
    'gpt-6': {
      source: `Efforts as @ai-sdk/openai 3.0.141 lists them from gpt-6 on; ${REFUSED}.`,
      efforts: words('low', 'medium', 'high', 'xhigh', 'max'),
      sampling: false,
    },
    'gpt-6-none': {
      source: `Efforts as @ai-sdk/openai 3.0.141 lists them for these three of gpt-6; ${REFUSED}.`,
      efforts: words('none', 'low', 'medium', 'high', 'xhigh', 'max'),
      sampling: false,
    },
  },
  models: {
    'gpt-4o': plain(16_384, { also: dated('gpt-4o', '2024-08-06', '2024-11-20') }),
    'gpt-4o-mini': plain(16_384, { also: dated('gpt-4o-mini', '2024-07-18') }),
    'gpt-4.1': plain(32_768, { also: dated('gpt-4.1', '2025-04-14') }),
    'gpt-4.1-mini': plain(32_768, { also: dated('gpt-4.1-mini', '2025-04-14') }),
    'gpt-4.1-nano': plain(32_768, { also: dated('gpt-4.1-nano', '2025-04-14') }),
    o1: { also: dated('o1', '2024-12-17'), traits: 'o-series', max_output_tokens: 100_000, inputs: SEES },
    o3: { also: dated('o3', '2025-04-16'), traits: 'o-series', max_output_tokens: 100_000, inputs: SEES },
    'o3-mini': {
      also: dated('o3-mini', '2025-01-31'),
      traits: 'o-series',
      max_output_tokens: 100_000,
      inputs: ['text'],
    },
    'o4-mini': { also: dated('o4-mini', '2025-04-16'), traits: 'o-series', max_output_tokens: 100_000, inputs: SEES },
    'gpt-5': { also: dated('gpt-5', '2025-08-07'), traits: 'gpt-5', max_output_tokens: 128_000, inputs: SEES },
    'gpt-5-mini': {
      also: dated('gpt-5-mini', '2025-08-07'),
      traits: 'gpt-5',
      max_output_tokens: 128_000,
      inputs: SEES,
    },
    'gpt-5-nano': {
      also: dated('gpt-5-nano', '2025-08-07'),
      traits: 'gpt-5',
      max_output_tokens: 128_000,
      inputs: SEES,
    },
    'gpt-5-pro': { also: dated('gpt-5-pro', '2025-10-06'), traits: 'gpt-5-pro', inputs: SEES },
    'gpt-5-codex': { max_output_tokens: 128_000, inputs: SEES },
    'gpt-5.1': { also: dated('gpt-5.1', '2025-11-13'), traits: 'gpt-5.1', max_output_tokens: 128_000, inputs: SEES },
    'gpt-5.1-codex': { max_output_tokens: 128_000, inputs: SEES },
    'gpt-5.1-codex-mini': { max_output_tokens: 128_000, inputs: SEES },
    'gpt-5.1-codex-max': { traits: 'gpt-5.1-codex-max', max_output_tokens: 128_000, inputs: SEES },
    'gpt-5.2': { also: dated('gpt-5.2', '2025-12-11'), traits: 'gpt-5.2', max_output_tokens: 128_000, inputs: SEES },
    'gpt-5.2-pro': { also: dated('gpt-5.2-pro', '2025-12-11'), inputs: SEES },
    'gpt-5.2-codex': { inputs: SEES },
    'gpt-5.3-codex': { inputs: SEES },
    'gpt-5.4': { also: dated('gpt-5.4', '2026-03-05'), traits: 'gpt-5.2', max_output_tokens: 128_000, inputs: SEES },
    'gpt-5.4-mini': { also: dated('gpt-5.4-mini', '2026-03-17'), traits: 'gpt-5.2', inputs: SEES },
    'gpt-5.4-nano': { also: dated('gpt-5.4-nano', '2026-03-17'), traits: 'gpt-5.2', inputs: SEES },
    'gpt-5.4-pro': { also: dated('gpt-5.4-pro', '2026-03-05'), inputs: SEES },
    'gpt-5.5': { also: dated('gpt-5.5', '2026-04-23'), traits: 'gpt-5.2', inputs: SEES },
    'gpt-5.6-sol': { also: ['gpt-5.6'], inputs: SEES },
    'gpt-5.6-terra': { inputs: SEES },
    'gpt-5.6-luna': { inputs: SEES },
    'gpt-6-astra': { traits: 'gpt-6', inputs: SEES },
    'gpt-6-sol': { traits: 'gpt-6-none', inputs: SEES },
    'gpt-6-luna': { traits: 'gpt-6-none', inputs: SEES },
    'gpt-6.1-sol': { traits: 'gpt-6', inputs: SEES, unpriced: true },
    'gpt-6.1-terra': { traits: 'gpt-6-none', inputs: SEES, unpriced: true },
  },
}
