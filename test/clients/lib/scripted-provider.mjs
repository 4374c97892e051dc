import { createServer } from 'node:http'

/**
 * A provider on both wires that plays one script: run a command, patch a file, say so; and when it is asked again, say what
 * it was told before. It goes by what a request holds, as a model does, and keeps every request.
 */
export async function startScriptedProvider() {
  const requests = []
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
    requests.push(body)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const wire = request.url.endsWith('/responses') ? WIRES.responses : WIRES.chat
    for (const piece of wire.write(nextStep(wire.read(body)))) {
      response.write(`${piece.type ? `event: ${piece.type}\n` : ''}data: ${JSON.stringify(piece)}\n\n`)
    }
    response.end('data: [DONE]\n\n')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}`, requests, close: () => server.close() }
}

export const WORDS = { ground: 'ground-42', file: 'flour.txt', patched: 'stone ground, 水車', done: 'GROUND' }

const PATCH = `*** Begin Patch\n*** Add File: ${WORDS.file}\n+${WORDS.patched}\n*** End Patch`

/** What the model says next, by the outputs that it has been given. */
function nextStep({ tools, outputs }) {
  const shell = tools.find(({ name }) => /^(exec_command|shell|shell_command)$/.test(name))
  const patch = tools.find(({ name }) => name === 'apply_patch')
  if (outputs.length === 0 && shell) return { tool: shell, input: commandFor(shell) }
  if (outputs.length === 1 && patch) return { tool: patch, input: patch.custom ? PATCH : { input: PATCH } }
  return { text: `${WORDS.done} after ${outputs.length} outputs: ${outputs.join(' | ').replace(/\s+/g, ' ')}` }
}

function commandFor({ parameters }) {
  // What it prints stands nowhere in the command.
  const line = 'echo ground-$((6*7))'
  if (parameters.properties.cmd) return { cmd: line }
  return { command: parameters.properties.command.type === 'array' ? ['bash', '-lc', line] : line }
}

const textOf = (content) =>
  typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join('')

let calls = 0

const WIRES = {
  chat: {
    read: ({ tools = [], messages }) => ({
      tools: tools.map(({ function: told, custom }) => told ?? { ...custom, custom: true }),
      outputs: messages.filter(({ role }) => role === 'tool').map(({ content }) => textOf(content)),
    }),
    write({ tool, input, text }) {
      const chunk = (delta, finish_reason = null) => ({
        ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'scripted' },
        choices: [{ index: 0, delta, finish_reason }],
      })
      const call = tool && {
        ...{ index: 0, id: `call_${++calls}`, type: tool.custom ? 'custom' : 'function' },
        ...(tool.custom
          ? { custom: { name: tool.name, input } }
          : { function: { name: tool.name, arguments: JSON.stringify(input) } }),
      }
      return [
        chunk({ role: 'assistant', content: text ?? null }),
        ...(call ? [chunk({ tool_calls: [call] })] : []),
        { ...chunk({}, call ? 'tool_calls' : 'stop'), usage: { prompt_tokens: 10, completion_tokens: 5 } },
      ]
    },
  },
  responses: {
    read: ({ tools = [], input }) => ({
      tools: tools.map((tool) => ({ ...tool, custom: tool.type === 'custom' })),
      outputs: input.filter(({ type }) => /_call_output$/.test(type)).map(({ output }) => textOf(output)),
    }),
    write({ tool, input, text }) {
      const named = tool && { call_id: `call_${++calls}`, name: tool.name, status: 'completed' }
      const item =
        (text && { id: 'm', type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }) ??
        (tool.custom
          ? { id: 'ct', type: 'custom_tool_call', ...named, input }
          : { id: 'fc', type: 'function_call', ...named, arguments: JSON.stringify(input) })
      const response = { id: 'r', object: 'response', created_at: 1, model: 'scripted', status: 'in_progress' }
      const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
      return [
        { type: 'response.created', response: { ...response, output: [] } },
        {
          type: 'response.output_item.added',
          output_index: 0,
          item: { ...item, content: [], arguments: '', input: '' },
        },
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: { ...response, status: 'completed', output: [item], usage } },
      ].map((event, sequence_number) => ({ ...event, sequence_number }))
    },
  },
}
