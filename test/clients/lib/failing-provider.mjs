import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** A provider on the chat wire that fails in the way that the name of the model says. */
export async function startFailingProvider() {
  const server = createServer(async (request, response) => {
    const { model } = JSON.parse(Buffer.concat(await request.toArray()).toString())
    await (WAYS[model] ?? WAYS.well)(response)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const refuse = (response, status, message, headers = {}) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify({ error: { message, type: 'provider_error', code: null } }))
}

const begin = (response) => response.writeHead(200, { 'content-type': 'text/event-stream' })
const put = (response, value) => response.write(`data: ${JSON.stringify(value)}\n\n`)
const chunk = (delta, finish_reason = null) => ({
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
  choices: [{ index: 0, delta, finish_reason }],
})

async function speak(response, finish = 'stop', pauseMs = 0) {
  begin(response)
  put(response, chunk({ role: 'assistant', content: 'Some words ' }))
  await sleep(pauseMs)
  put(response, chunk({ content: 'and more.' }))
  if (finish === null) return
  put(response, { ...chunk({}, finish), usage: { prompt_tokens: 10, completion_tokens: 5 } })
  response.end('data: [DONE]\n\n')
}

async function failInWords(response, code) {
  await speak(response, null)
  put(response, { error: { message: 'Something broke.', code } })
  response.end()
}

export const WAYS = {
  well: (response) => speak(response),
  slow: (response) => speak(response, 'stop', 40_000),
  short: (response) => speak(response, 'length'),
  silent: () => undefined,
  'fails-500': (response) => refuse(response, 500, 'Something broke.'),
  'fails-400': (response) => refuse(response, 400, 'The weather is wrong.'),
  'fails-401': (response) => refuse(response, 401, 'Who are you?'),
  'fails-429': (response) => refuse(response, 429, 'Too fast.', { 'retry-after': '2' }),
  'fails-long': (response) => refuse(response, 400, "This model's maximum context length is 10 tokens."),
  async 'fails-late'(response) {
    await sleep(LATE_MS)
    response.destroy()
  },
  async 'fails-late-500'(response) {
    await sleep(LATE_MS)
    refuse(response, 500, 'Something broke.')
  },
  async 'cut-in-words'(response) {
    await speak(response, null)
    await sleep(50)
    response.destroy()
  },
  'error-in-words': (response) => failInWords(response, 'server_error'),
  'filter-in-words': (response) => failInWords(response, 'content_filter'),
}

/** Longer than the gateway of `codex-refusals.mjs` waits before it sends the head of a stream. */
const LATE_MS = 3000
