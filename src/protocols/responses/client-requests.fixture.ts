// Requests as real clients shape them, in words of our own.

const call = (id: string, name: string) => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: `call_${id}`,
  name,
  arguments: '{"path":"."}',
  status: 'completed',
})
const output = (id: string, text: unknown) => ({ type: 'function_call_output', call_id: `call_${id}`, output: text })

const SHELL = {
  type: 'function',
  name: 'shell',
  description: 'Runs a command',
  strict: false,
  parameters: { type: 'object', properties: { command: { type: 'array', items: { type: 'string' } } } },
}
const SPAWN = { type: 'function', name: 'spawn_agent', description: '', strict: null, parameters: null }
const PATCH = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Changes files',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
}

/** Codex: instructions are empty, the base prompt is the first developer message, a hosted tool is always declared. */
export const CODEX = {
  model: 'demo',
  instructions: '',
  input: [
    { type: 'message', id: 'msg_1', role: 'developer', content: [{ type: 'input_text', text: 'Work well.' }] },
    { type: 'message', id: 'msg_2', role: 'user', content: [{ type: 'input_text', text: 'List the files.' }] },
    { type: 'reasoning', id: 'rs_1', summary: [], content: null, encrypted_content: 'sealed-1' },
    { ...call('1', 'shell'), id: 'fc_1' },
    { ...output('1', 'README.md'), id: 'fco_1' },
  ],
  tools: [
    SHELL,
    { type: 'namespace', name: 'multi_agent_v1', description: 'Agents', tools: [SPAWN] },
    PATCH,
    { type: 'web_search', external_web_access: false },
    { type: 'tool_search', execution: 'client', description: 'x', parameters: { type: 'object' } },
  ],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  reasoning: { effort: 'medium', summary: 'auto' },
  store: false,
  stream: true,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: '4f0c1b9e-0000-4000-8000-000000000000',
  text: { verbosity: 'low' },
  client_metadata: { installation: 'x' },
}

/** Codex towards its newest models: no `tools` at all, they are the first item. */
export const CODEX_LITE = {
  model: 'demo',
  instructions: '',
  input: [
    {
      type: 'additional_tools',
      role: 'developer',
      tools: [
        { type: 'namespace', name: 'functions', description: '', tools: [{ type: 'custom', name: 'exec' }, SHELL] },
        { type: 'web_search' },
      ],
    },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go on.' }] },
    { type: 'custom_tool_call', call_id: 'call_9', name: 'exec', namespace: 'functions', input: 'ls' },
    { type: 'custom_tool_call_output', call_id: 'call_9', output: [{ type: 'input_text', text: 'a' }] },
  ],
  tool_choice: 'auto',
  parallel_tool_calls: false,
  reasoning: { effort: 'high', context: 'all_turns' },
  store: false,
  stream: true,
  include: ['reasoning.encrypted_content'],
}

/** The AI SDK: items without type, tools as they are needed, storing left to the server. */
export const AI_SDK = {
  model: 'demo',
  input: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'input_text', text: 'What is the weather?' }] },
    { type: 'function_call', call_id: 'call_a', name: 'weather', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_a', output: 'Rain' },
    { role: 'assistant', content: [{ type: 'output_text', text: 'It rains.' }], id: 'msg_9' },
    { role: 'user', content: [{ type: 'input_text', text: 'And tomorrow?' }] },
  ],
  tools: [{ type: 'function', name: 'weather', parameters: { type: 'object', properties: {} }, strict: false }],
  tool_choice: { type: 'function', name: 'weather' },
  temperature: 0.2,
  text: { format: { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true } },
}

/** Everything spelled out, and most of it null. */
export const ALL_NULL = {
  model: 'demo',
  input: [{ type: 'message', role: 'user', content: 'Hi', id: null, status: null, phase: null }],
  instructions: null,
  previous_response_id: null,
  include: null,
  truncation: null,
  reasoning: { effort: null, summary: null },
  text: { format: null, verbosity: null },
  tools: null,
  tool_choice: null,
  metadata: null,
  user: null,
  background: null,
  conversation: null,
  prompt: null,
  store: null,
  stream: null,
  max_output_tokens: null,
  service_tier: null,
}

/** A conversation that began at another server, with the results of its hosted tools. */
export const FROM_ELSEWHERE = {
  model: 'demo',
  input: [
    { role: 'user', content: 'Search.' },
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } },
    { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'x', tools: [] },
    { type: 'local_shell_call', id: 'lsh_1', call_id: 'call_7', status: 'completed', action: { type: 'exec' } },
    { type: 'function_call_output', call_id: 'call_7', output: 'done' },
    { type: 'configuration_update', reasoning: { effort: 'low' } },
    { type: 'message', role: 'assistant', phase: 'final_answer', content: [{ type: 'refusal', refusal: 'No.' }] },
    { role: 'user', content: [{ type: 'text', text: 'Why?' }] },
  ],
  tools: [{ type: 'mcp', server_label: 'x', server_url: 'https://example.com' }],
  max_output_tokens: 400,
  metadata: { thread: '7' },
  top_logprobs: 2,
}

export const CLIENT_REQUESTS = { CODEX, CODEX_LITE, AI_SDK, ALL_NULL, FROM_ELSEWHERE } as const
