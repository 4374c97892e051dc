// OpenRouter maps efforts itself, so only prices and contexts are listed.

const IDS = `
anthropic/claude-haiku-4.5 anthropic/claude-sonnet-4.5 anthropic/claude-sonnet-4.6 anthropic/claude-sonnet-5
anthropic/claude-opus-4.5 anthropic/claude-opus-4.6 anthropic/claude-opus-4.7 anthropic/claude-opus-4.8
anthropic/claude-opus-5 anthropic/claude-opus-5.5 anthropic/claude-fable-5 anthropic/claude-fable-5.1
deepseek/deepseek-v3.2 deepseek/deepseek-v4-flash deepseek/deepseek-v4-pro
google/gemini-2.5-flash google/gemini-2.5-flash-lite google/gemini-2.5-pro google/gemini-3-flash-preview
google/gemini-3.1-flash-lite google/gemini-3.1-pro-preview google/gemini-3.5-flash
minimax/minimax-m2.7 minimax/minimax-m3
mistralai/codestral-2508 mistralai/devstral-2512 mistralai/mistral-large-2512 mistralai/mistral-medium-3-5
mistralai/mistral-small-2603
moonshotai/kimi-k2.5 moonshotai/kimi-k2.6 moonshotai/kimi-k2.7-code moonshotai/kimi-k3
openai/gpt-4.1 openai/gpt-4.1-mini openai/gpt-4o openai/gpt-4o-mini openai/gpt-5 openai/gpt-5-mini openai/gpt-5-nano
openai/gpt-5.1 openai/gpt-5.2 openai/gpt-5.3-codex openai/gpt-5.4 openai/gpt-5.4-mini openai/gpt-oss-120b
openai/gpt-oss-20b
qwen/qwen3-235b-a22b-2507 qwen/qwen3-32b qwen/qwen3-coder qwen/qwen3-coder-next qwen/qwen3-coder-plus
x-ai/grok-4.20 x-ai/grok-4.3 x-ai/grok-code-fast-1
z-ai/glm-4.7 z-ai/glm-5 z-ai/glm-5.1 z-ai/glm-5.2 z-ai/glm-5.3
`

export default {
  dialect: 'openrouter',
  wires: ['chat', 'responses'],
  pricesOf: 'openrouter',
  traits: {},
  models: Object.fromEntries(
    IDS.trim()
      .split(/\s+/)
      .map((id) => [id, {}]),
  ),
}
