/** What a healthy provider says, in the words of the chat wire, for fakes to say whole, in part or wrongly. */

export const WORDS = ['Good ', 'morning', ' to', ' you'] as const
export const WHOLE_TEXT = WORDS.join('')

/** Of the eleven tokens of input four came from the cache. */
export const USAGE = {
  prompt_tokens: 11,
  completion_tokens: 7,
  total_tokens: 18,
  prompt_tokens_details: { cached_tokens: 4 },
}

interface ChunkParts {
  readonly delta?: object
  readonly finish?: string | null
  readonly more?: object
}

export const chunk = (model: string, { delta = {}, finish = null, more = {} }: ChunkParts) => ({
  id: 'chatcmpl-fake',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model,
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
})

export const usageChunk = (model: string, usage: unknown) => ({
  id: 'chatcmpl-fake',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model,
  choices: [],
  usage,
})

export const reply = (model: string, { message = {}, finish = 'stop' as string | null, more = {} as object } = {}) => ({
  id: 'chatcmpl-fake',
  object: 'chat.completion',
  created: 1_700_000_000,
  model,
  choices: [{ index: 0, message: { role: 'assistant', content: WHOLE_TEXT, ...message }, finish_reason: finish }],
  usage: USAGE,
  ...more,
})

export const errorBody = (message: string, more: object = {}) => ({
  error: { message, type: 'server_error', param: null, code: null, ...more },
})
