// Providers that speak Chat Completions in their own dialects. Each group of traits names its `source`.

const words = (...efforts) => Object.fromEntries(efforts.map((effort) => [effort, effort]))

const deepseek = {
  dialect: 'deepseek',
  wires: ['chat'],
  pricesOf: 'deepseek',
  traits: {
    thinking: {
      source:
        "Vendor's API docs: a switch for thinking; reasoning_effort low, high, max; minimal counts as low, medium and xhigh as high.",
      efforts: {
        none: 'disabled',
        minimal: 'low',
        low: 'low',
        medium: 'high',
        high: 'high',
        xhigh: 'high',
        max: 'max',
      },
    },
  },
  models: {
    'deepseek-v4-flash': { traits: 'thinking' },
    'deepseek-v4-pro': { traits: 'thinking' },
    'deepseek-chat': {},
    'deepseek-reasoner': {},
  },
}

const groq = {
  dialect: 'groq',
  wires: ['chat', 'responses'],
  pricesOf: 'groq',
  traits: {
    'gpt-oss': { source: "Vendor's console docs: low, medium, high.", efforts: words('low', 'medium', 'high') },
    switched: {
      source: "Vendor's console docs: none or default.",
      efforts: { none: 'none', low: 'default', medium: 'default', high: 'default' },
    },
    'no-reasoning': { source: "Vendor's console docs: no reasoning model.", efforts: {} },
  },
  models: {
    'openai/gpt-oss-120b': { traits: 'gpt-oss' },
    'openai/gpt-oss-20b': { traits: 'gpt-oss' },
    'qwen/qwen3-32b': { traits: 'switched' },
    'llama-3.1-8b-instant': { traits: 'no-reasoning' },
    'llama-3.3-70b-versatile': { traits: 'no-reasoning' },
    'meta-llama/llama-4-maverick-17b-128e-instruct': { traits: 'no-reasoning' },
    'meta-llama/llama-4-scout-17b-16e-instruct': { traits: 'no-reasoning' },
    'moonshotai/kimi-k2-instruct-0905': { traits: 'no-reasoning' },
  },
}

const mistral = {
  dialect: 'mistral',
  wires: ['chat'],
  pricesOf: 'mistral',
  traits: {
    adjustable: {
      source: "Vendor's page on adjustable reasoning: none or high.",
      efforts: { none: 'none', low: 'high', medium: 'high', high: 'high' },
    },
    fixed: {
      source: "Vendor's page on reasoning: not among the models whose reasoning can be adjusted.",
      efforts: {},
    },
  },
  models: {
    'mistral-large-2512': { traits: 'fixed' },
    'mistral-medium-3-5': { traits: 'adjustable' },
    'mistral-medium-2508': { also: ['mistral-medium-2505'], traits: 'fixed' },
    'mistral-small-2603': { traits: 'adjustable' },
    'magistral-medium-2509': { traits: 'fixed' },
    'magistral-small-2509': { traits: 'fixed' },
    'devstral-2512': { traits: 'fixed' },
    'codestral-2508': { traits: 'fixed' },
    'ministral-3b-2512': { traits: 'fixed' },
    'ministral-8b-2512': { traits: 'fixed' },
    'ministral-14b-2512': { traits: 'fixed' },
  },
}

const xai = {
  dialect: 'xai',
  wires: ['chat', 'responses'],
  pricesOf: 'x-ai',
  traits: {
    'grok-3-mini': { source: "Vendor's docs: reasoning_effort low or high.", efforts: words('low', 'high') },
    'grok-4.3': {
      source: "Vendor's docs on effort levels: none, low, medium, high from grok-4.3 on.",
      efforts: words('none', 'low', 'medium', 'high'),
    },
  },
  models: {
    'grok-3-mini': { also: ['grok-3-mini-latest'], traits: 'grok-3-mini' },
    'grok-4-0709': { also: ['grok-4', 'grok-4-latest'] },
    'grok-4-1-fast-reasoning': { also: ['grok-4-1-fast', 'grok-4-1-fast-reasoning-latest'] },
    'grok-4-1-fast-non-reasoning': { also: ['grok-4-1-fast-non-reasoning-latest'] },
    'grok-4.20': {},
    'grok-4.3': { also: ['grok-4.3-latest'], traits: 'grok-4.3' },
    'grok-4.5': { also: ['grok-4.5-latest'] },
    'grok-4.6': { also: ['grok-4.6-latest'] },
    'grok-code-fast-1': { also: ['grok-code-fast', 'grok-code-fast-1-0825'] },
  },
}

const moonshot = {
  dialect: 'moonshot',
  wires: ['chat'],
  pricesOf: 'moonshotai',
  traits: {},
  models: {
    'kimi-k2.5': {},
    'kimi-k2.6': {},
    'kimi-k2.7-code': {},
    'kimi-k2.7-code-highspeed': {},
    'kimi-k3': {},
  },
}

export default [deepseek, groq, mistral, xai, moonshot]
