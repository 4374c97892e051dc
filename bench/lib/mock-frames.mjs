// Streams as providers send them, about 300 bytes a frame: an opening, `count` frames of words, an ending. Words, numbers
// and padding differ from frame to frame.

const WORDS = [
  ' the',
  ' a',
  ' water',
  ' wheel',
  ' turns',
  ' and',
  '.',
  ' slowly',
  ',',
  ' stone',
  ' by',
  '\n\n',
  ' café',
  ' "so"',
]
const LETTERS = 'kJ3xQ0aZ9bYvT2mW'
const ITEM = 'msg_68e4d0a1b6d481a0b7c3f2e19d5c4b7a0f1e2d3c4b5a6978'
const RESPONSE = 'resp_68e4d0a1b6d481a0b7c3f2e19d5c4b7a0f1e2d3c4b5a6978'
const MESSAGE = 'msg_01XQ4g3HwBThD4BaNtBckFDJ'
const COUNTS = { input_tokens: 200, output_tokens: 200, total_tokens: 400 }

const wordAt = (at) => WORDS[(at * 7) % WORDS.length]
const paddingAt = (at) => LETTERS.repeat(2).slice(at % 16, (at % 16) + 16 - wordAt(at).length)

/** `style` is `padded` for frames with a field `obfuscation`. */
export const FRAMES = {
  chat(model, count, style) {
    const head = {
      id: 'chatcmpl-CNs8aTqPz3vYkRw7uXbHdJmLfGe1o',
      object: 'chat.completion.chunk',
      created: 1_760_000_000,
      model,
    }
    const frame = (delta, more) =>
      `data: ${JSON.stringify({ ...head, service_tier: 'default', system_fingerprint: 'fp_cbf1785567', ...more, choices: delta && [{ index: 0, delta, logprobs: null, finish_reason: null }], ...(style === 'padded' ? { obfuscation: paddingAt(count) } : {}) })}\n\n`
    const words = range(count, (at) => frame({ content: wordAt(at) }, {}).replace(paddingAt(count), paddingAt(at)))
    const usage = { prompt_tokens: 200, completion_tokens: 200, total_tokens: 400 }
    const last = `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }] })}\n\n`
    const counts = `data: ${JSON.stringify({ ...head, choices: [], usage })}\n\n`
    return {
      opening: frame({ role: 'assistant', content: '', refusal: null }, {}),
      words,
      ending: `${last}${counts}data: [DONE]\n\n`,
    }
  },
  responses(model, count, style) {
    let number = 0
    const frame = (type, fields) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number++, ...fields })}\n\n`
    const text = range(count, wordAt).join('')
    const place = { item_id: ITEM, output_index: 0, content_index: 0 }
    const part = (words) => ({ type: 'output_text', annotations: [], logprobs: [], text: words })
    const item = (status, content) => ({ id: ITEM, type: 'message', status, content, role: 'assistant' })
    const response = (status, output, usage) => ({ response: { ...responseHead(model), status, output, usage } })
    const opening = [
      frame('response.created', response('in_progress', [], null)),
      frame('response.in_progress', response('in_progress', [], null)),
      frame('response.output_item.added', { output_index: 0, item: item('in_progress', []) }),
      frame('response.content_part.added', { ...place, part: part('') }),
    ].join('')
    const padding = (at) => (style === 'padded' ? { obfuscation: paddingAt(at) } : {})
    const words = range(count, (at) =>
      frame('response.output_text.delta', { ...place, delta: wordAt(at), logprobs: [], ...padding(at) }),
    )
    const ending = [
      frame('response.output_text.done', { ...place, text, logprobs: [] }),
      frame('response.content_part.done', { ...place, part: part(text) }),
      frame('response.output_item.done', { output_index: 0, item: item('completed', [part(text)]) }),
      frame('response.completed', response('completed', [item('completed', [part(text)])], COUNTS)),
    ].join('')
    return { opening, words, ending }
  },
  anthropic(model, count) {
    const frame = (type, fields) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
    const message = { id: MESSAGE, type: 'message', role: 'assistant', model, content: [], stop_reason: null }
    const usage = { input_tokens: 200, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 }
    const stop = { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { ...usage, output_tokens: count } }
    return {
      opening: [
        frame('message_start', { message: { ...message, stop_sequence: null, usage } }),
        frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
        frame('ping', {}),
      ].join(''),
      words: range(count, (at) =>
        frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text: wordAt(at) } }),
      ),
      ending: frame('content_block_stop', { index: 0 }) + frame('message_delta', stop) + frame('message_stop', {}),
    }
  },
  gemini(modelVersion, count) {
    const counts = (at) => ({ promptTokenCount: 200, candidatesTokenCount: at, totalTokenCount: 200 + at })
    const frame = (text, at, more = {}) => {
      const candidates = [{ content: { parts: [{ text }], role: 'model' }, index: 0, ...more }]
      const usageMetadata = { ...counts(at), promptTokensDetails: [{ modality: 'TEXT', tokenCount: 200 }] }
      return `data: ${JSON.stringify({ candidates, usageMetadata, modelVersion, responseId: RESPONSE })}\r\n\r\n`
    }
    return {
      opening: '',
      words: range(count, (at) => frame(wordAt(at), at + 1)),
      ending: frame('', count, { finishReason: 'STOP' }),
    }
  },
}

/** A whole answer of 1,200 letters. */
export const JSON_ANSWERS = {
  chat: (model) => ({
    ...{ id: 'chatcmpl-mock', object: 'chat.completion', created: 1, model, system_fingerprint: 'fp' },
    choices: [
      {
        ...{ index: 0, logprobs: null, finish_reason: 'stop' },
        message: { role: 'assistant', content: 'y'.repeat(1200), refusal: null },
      },
    ],
    usage: { prompt_tokens: 200, completion_tokens: 200, total_tokens: 400 },
  }),
  responses(model) {
    const content = [{ type: 'output_text', text: 'y'.repeat(1200), annotations: [], logprobs: [] }]
    const output = [{ id: ITEM, type: 'message', status: 'completed', role: 'assistant', content }]
    return { ...responseHead(model), status: 'completed', output, usage: COUNTS }
  },
}

const responseHead = (model) => ({
  ...{ id: RESPONSE, object: 'response', created_at: 1_760_000_000, model, error: null, incomplete_details: null },
  ...{ instructions: null, max_output_tokens: null, max_tool_calls: null, parallel_tool_calls: true, store: false },
  ...{
    reasoning: { effort: null, summary: null },
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
  },
  ...{ tools: [], top_p: 1, truncation: 'disabled', user: null, metadata: {}, previous_response_id: null },
})

const range = (count, of) => Array.from({ length: count }, (_, at) => of(at))
