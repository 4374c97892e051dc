// A provider that sends when the test tells it to, so that a test knows what has been sent when the client reads.
import { createServer } from 'node:http'
import { within } from './machine.mjs'

const STEP_MS = 15_000

export async function openProvider() {
  const waiting = []
  const arrived = []
  const server = createServer((request, response) => {
    const body = []
    request.on('data', (bytes) => body.push(bytes))
    request.on('end', () => {
      const call = callOver(response, JSON.parse(Buffer.concat(body).toString()))
      const taker = waiting.shift()
      if (taker) taker(call)
      else arrived.push(call)
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    /** The next request of the gateway. */
    nextCall: () =>
      within(STEP_MS, 'a request of the gateway', arrived.shift() ?? new Promise((resolve) => waiting.push(resolve))),
    close: () => server.closeAllConnections() ?? server.close(),
  }
}

function callOver(response, request) {
  const stamp = { id: 'chatcmpl-1', created: 1_700_000_000, model: request.model }
  const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }
  const write = (chunk) =>
    response.write(`data: ${JSON.stringify({ ...stamp, object: 'chat.completion.chunk', ...chunk })}\n\n`)
  const choice = (delta, finish_reason = null) => ({ choices: [{ index: 0, delta, finish_reason }] })
  return {
    request,
    closed: new Promise((resolve) => response.once('close', resolve)),
    send(text) {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
      write(choice({ role: 'assistant', content: text }))
    },
    finish() {
      write(choice({}, 'stop'))
      write({ choices: [], usage })
      response.end('data: [DONE]\n\n')
    },
    answer(content) {
      const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ ...stamp, object: 'chat.completion', choices, usage }))
    },
  }
}
