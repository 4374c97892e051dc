// A call of the tool `look` as each wire streams it, in place of words.

const ARGUMENTS = ['{"at":', '"the mill', ' race"}']
const WHOLE = ARGUMENTS.join('')
const USAGE = { input_tokens: 200, output_tokens: 20, total_tokens: 220 }

const data = (value) => `data: ${JSON.stringify(value)}\n\n`
const event = (type, fields) => `event: ${type}\n${data({ type, ...fields })}`

export const TOOL_FRAMES = {
  chat(model) {
    const chunk = (delta, finish_reason = null) =>
      data({
        ...{ id: 'chatcmpl-soak', object: 'chat.completion.chunk', created: 1_760_000_000, model },
        choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      })
    const call = (more) => chunk({ tool_calls: [{ index: 0, ...more }] })
    const usage = { prompt_tokens: 200, completion_tokens: 20, total_tokens: 220 }
    return [
      chunk({ role: 'assistant', content: null }),
      call({ id: 'call_soak', type: 'function', function: { name: 'look', arguments: '' } }),
      ...ARGUMENTS.map((part) => call({ function: { arguments: part } })),
      chunk({}, 'tool_calls'),
      data({ id: 'chatcmpl-soak', object: 'chat.completion.chunk', created: 1_760_000_000, model, choices: [], usage }),
      'data: [DONE]\n\n',
    ]
  },
  responses(model) {
    let number = 0
    const emit = (type, fields) => event(type, { sequence_number: number++, ...fields })
    const item = (status, args) => ({
      ...{ id: 'fc_soak', type: 'function_call', status, call_id: 'call_soak', name: 'look', arguments: args },
    })
    const response = (status, output, usage) => ({
      response: { id: 'resp_soak', object: 'response', created_at: 1_760_000_000, model, status, output, usage },
    })
    const place = { item_id: 'fc_soak', output_index: 0 }
    return [
      emit('response.created', response('in_progress', [], null)),
      emit('response.output_item.added', { output_index: 0, item: item('in_progress', '') }),
      ...ARGUMENTS.map((delta) => emit('response.function_call_arguments.delta', { ...place, delta })),
      emit('response.function_call_arguments.done', { ...place, arguments: WHOLE }),
      emit('response.output_item.done', { output_index: 0, item: item('completed', WHOLE) }),
      emit('response.completed', response('completed', [item('completed', WHOLE)], USAGE)),
    ]
  },
  anthropic(model) {
    const usage = { input_tokens: 200, output_tokens: 1 }
    const message = { id: 'msg_soak', type: 'message', role: 'assistant', model, content: [], stop_reason: null, usage }
    const block = { type: 'tool_use', id: 'toolu_soak', name: 'look', input: {} }
    return [
      event('message_start', { message: { ...message, stop_sequence: null } }),
      event('content_block_start', { index: 0, content_block: block }),
      ...ARGUMENTS.map((part) =>
        event('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json: part } }),
      ),
      event('content_block_stop', { index: 0 }),
      event('message_delta', { delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 20 } }),
      event('message_stop', {}),
    ]
  },
  gemini(modelVersion) {
    const parts = [{ functionCall: { name: 'look', args: JSON.parse(WHOLE) } }]
    const usageMetadata = { promptTokenCount: 200, candidatesTokenCount: 20, totalTokenCount: 220 }
    const candidates = [{ content: { parts, role: 'model' }, index: 0, finishReason: 'STOP' }]
    return [data({ candidates, usageMetadata, modelVersion, responseId: 'soak' })]
  },
}
