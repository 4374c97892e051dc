/**
 * Fields that our own writers put into requests, by the names of all wires: only of these may a lane's refusal be held
 * against the lane. A field that only a client knows (one that it made up, or that `pass_fields` lets through) says
 * nothing about the requests of others, and clients could make up as many as they like.
 */
export const LEARNABLE_FIELDS: ReadonlySet<string> = new Set([
  // How words are chosen.
  ...['temperature', 'top_p', 'topP', 'seed', 'random_seed', 'logit_bias', 'logprobs', 'top_logprobs'],
  ...['presence_penalty', 'presencePenalty', 'frequency_penalty', 'frequencyPenalty', 'responseLogprobs'],
  // How much is thought, and what is told of that.
  ...['reasoning_effort', 'reasoning', 'thinking', 'enable_thinking', 'thinking_budget', 'chat_template_kwargs'],
  ...['output_config', 'thinkingConfig', 'include', 'verbosity'],
  // For whom it is, and what of it is kept.
  ...['user', 'safety_identifier', 'metadata', 'prompt_cache_key', 'cache_control'],
  // How it is delivered, and how long it may be.
  ...['stream_options', 'parallel_tool_calls', 'max_tokens', 'max_completion_tokens'],
])
