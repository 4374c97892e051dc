/** The two wires of the scripted provider: what a request holds, and a step as the events of an answer. */
export const WIRES = {
  chat: {
    read({ tools = [], messages }) {
      const outputText = messages.filter(({ role }) => role !== 'tool')
      return {
        tools: tools.map(({ function: reported, custom }) => reported ?? { ...custom, custom: true }),
        outputs: messages.filter(({ role }) => role === 'tool').map(({ content }) => textOf(content)),
        ...wordsOf(outputText),
      }
    },
    write({ tool, input, text, tokens = 10 }) {
      const chunk = (delta, finish_reason = null) => ({
        ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'scripted' },
        choices: [{ index: 0, delta, finish_reason }],
      })
      const call = tool && {
        ...{ index: 0, id: newCallId(), type: tool.custom ? 'custom' : 'function' },
        ...(tool.custom
          ? { custom: { name: tool.name, input } }
          : { function: { name: tool.name, arguments: JSON.stringify(input) } }),
      }
      const usage = { prompt_tokens: tokens, completion_tokens: 5, total_tokens: tokens + 5 }
      return [
        chunk({ role: 'assistant', content: text === undefined ? null : 'So: ' }),
        call ? chunk({ tool_calls: [call] }) : chunk({ content: text }),
        { ...chunk({}, call ? 'tool_calls' : 'stop'), usage },
      ]
    },
  },
  responses: {
    read({ tools = [], input }) {
      const added = input.flatMap(({ type, tools }) => (type === 'additional_tools' ? tools : []))
      const outputText = input.filter(({ type = 'message' }) => type === 'message' || type === 'compaction')
      return {
        tools: [...tools, ...added].flatMap((tool) =>
          (tool.type === 'namespace' ? tool.tools.map((one) => ({ ...one, namespace: tool.name })) : [tool]).map(
            (one) => ({ ...one, custom: one.type === 'custom' }),
          ),
        ),
        outputs: input.filter(({ type }) => /_call_output$/.test(type)).map(({ output }) => textOf(output)),
        trigger: input.at(-1).type === 'compaction_trigger',
        ...wordsOf(outputText.map((item) => ({ ...item, content: item.encrypted_content ?? item.content }))),
      }
    },
    write(step) {
      const item = itemOf(step)
      const response = { id: 'r', object: 'response', created_at: 1, model: 'scripted', status: 'in_progress' }
      const { tokens = 10 } = step
      const usage = { input_tokens: tokens, output_tokens: 5, total_tokens: tokens + 5 }
      const begun = { ...item, content: [], arguments: '', input: '' }
      const outputText = { item_id: 'm', output_index: 0, content_index: 0 }
      const part = { type: 'output_text', text: '', annotations: [] }
      const words = step.text && [
        { type: 'response.content_part.added', ...outputText, part },
        { type: 'response.output_text.delta', ...outputText, delta: 'So: ', logprobs: [] },
        { type: 'response.output_text.delta', ...outputText, delta: step.text, logprobs: [] },
      ]
      return [
        { type: 'response.created', response: { ...response, output: [] } },
        { type: 'response.output_item.added', output_index: 0, item: begun },
        ...(words ?? []),
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: { ...response, status: 'completed', output: [item], usage } },
      ].map((event, sequence_number) => ({ ...event, sequence_number }))
    },
  },
}

/** The event that says the first word, behind which a pause is one in the middle. */
export const emitsFirstText = ({ type, choices }) =>
  type === undefined ? choices[0].delta.role !== undefined : type === 'response.output_text.delta'

function itemOf({ tool, input, text, compaction }) {
  if (compaction !== undefined) return { id: 'cmp', type: 'compaction', encrypted_content: compaction }
  if (text !== undefined) {
    const content = [{ type: 'output_text', text: `So: ${text}`, annotations: [] }]
    return { id: 'm', type: 'message', role: 'assistant', status: 'completed', content }
  }
  const { name, namespace } = tool
  const named = { call_id: newCallId(), name, ...(namespace && { namespace }), status: 'completed' }
  return tool.custom
    ? { id: 'ct', type: 'custom_tool_call', ...named, input }
    : { id: 'fc', type: 'function_call', ...named, arguments: JSON.stringify(input) }
}

const wordsOf = (messages) => ({
  receivedRequest: textOf(messages.findLast(({ role }) => role === 'user')?.content),
  words: messages.map(({ content }) => textOf(content)).join(' '),
})

const textOf = (content) =>
  typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join('')

let calls = 0
const newCallId = () => `call_${++calls}`
