import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const DRIP_MS = 200

/**
 * A provider on both wires that fails its first request in the way that `play` says, and answers all others. It notes each request, and
 * when its client was gone. Requests without tools, such as an agent's for a title, are answered and not noted if `onlyTools`.
 */
export async function startBreakingProvider() {
  let scene
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString() || '{}')
    if (request.method !== 'POST') return void response.writeHead(404).end('{}')
    const wire = request.url.endsWith('/responses') ? RESPONSES : CHAT
    const counts = !scene.onlyTools || body.tools?.length > 0
    const note = { at: performance.now() }
    response.on('close', () => {
      if (!response.writableFinished) note.closedAt = performance.now()
    })
    if (counts) scene.requests.push(note)
    const way = counts && scene.requests.length === 1 ? scene.way : 'well'
    await WAYS[way](response, { wire, note, json: body.stream !== true })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    play(way, { onlyTools }) {
      scene = { way, onlyTools, requests: [] }
      return scene.requests
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

export const ANSWER = 'MILLED-42'

const WAYS = {
  async well(response, { wire, json }) {
    if (json) {
      response.setHeader('content-type', 'application/json')
      return void response.end(JSON.stringify(wire.whole()))
    }
    begin(response, wire)
    put(response, wire.delta(`${ANSWER} `))
    put(response, wire.delta('is the answer.'))
    for (const event of wire.end()) put(response, event)
    response.end(wire === CHAT ? 'data: [DONE]\n\n' : '')
  },
  async stream(response, { wire, note }) {
    begin(response, wire)
    for (let word = 0; note.closedAt === undefined && word < 300; word++) {
      put(response, wire.delta(`word${word} `))
      note.words = word + 1
      await sleep(DRIP_MS)
    }
  },
  /** Answers nothing until its client is gone. */
  async silence(_response, { note }) {
    for (let word = 0; note.closedAt === undefined && word < 300; word++) {
      note.words = word + 1
      await sleep(DRIP_MS)
    }
  },
  async 'cut before text'(response, { wire }) {
    begin(response, wire)
    await sleep(50)
    response.destroy()
  },
  async 'cut after text'(response, { wire }) {
    begin(response, wire)
    put(response, wire.delta('Some words '))
    put(response, wire.delta('and more '))
    await sleep(50)
    response.destroy()
  },
  async busy(response) {
    response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '2' })
    response.end(
      JSON.stringify({
        error: { message: 'Rate limit reached.', type: 'rate_limit_error', code: 'rate_limit_exceeded' },
      }),
    )
  },
}

function begin(response, wire) {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of wire.begin()) put(response, event)
}

function put(response, event) {
  response.write(`${event.type ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
}

const chunk = (delta, finish_reason = null) => ({
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
  choices: [{ index: 0, delta, finish_reason }],
})
const CHAT_USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

const CHAT = {
  begin: () => [chunk({ role: 'assistant', content: '' })],
  delta: (content) => chunk({ content }),
  end: () => [chunk({}, 'stop'), { ...chunk({}), choices: [], usage: CHAT_USAGE }],
  whole: () => ({
    ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm', usage: CHAT_USAGE },
    choices: [{ index: 0, message: { role: 'assistant', content: ANSWER }, finish_reason: 'stop' }],
  }),
}

const part = (text) => ({ type: 'output_text', text, annotations: [] })
const message = (status, content) => ({ id: 'm', type: 'message', role: 'assistant', status, content })
const responseOf = (status, output) => ({
  ...{ id: 'r', object: 'response', created_at: 1, model: 'm', status, output },
  usage: status === 'completed' ? { input_tokens: 10, output_tokens: 5, total_tokens: 15 } : null,
})
const at = { item_id: 'm', output_index: 0, content_index: 0 }
const done = message('completed', [part(`${ANSWER} is the answer.`)])

const RESPONSES = {
  begin: () => [
    { type: 'response.created', response: responseOf('in_progress', []) },
    { type: 'response.output_item.added', output_index: 0, item: message('in_progress', []) },
    { type: 'response.content_part.added', ...at, part: part('') },
  ],
  delta: (delta) => ({ type: 'response.output_text.delta', ...at, delta, logprobs: [] }),
  end: () => [
    { type: 'response.output_text.done', ...at, text: done.content[0].text, logprobs: [] },
    { type: 'response.content_part.done', ...at, part: done.content[0] },
    { type: 'response.output_item.done', output_index: 0, item: done },
    { type: 'response.completed', response: responseOf('completed', [done]) },
  ],
  whole: () => responseOf('completed', [done]),
}
