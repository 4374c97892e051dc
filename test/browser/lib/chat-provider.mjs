import { createServer } from 'node:http'

const PROMPT = 9

/**
 * A provider of Chat Completions on another port, which wants a key. Each answer counts one token more than the one before it. While
 * it is `failing`, it answers 500 to everything but its list of models.
 */
export async function startChatProvider({ key, models }) {
  const provider = { failing: false, calls: 0 }
  const server = createServer((request, response) => {
    if (request.headers.authorization !== `Bearer ${key}`)
      return response.writeHead(401).end('{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}')
    if (request.url === '/v1/models') return response.end(JSON.stringify({ data: models.map((id) => ({ id })) }))
    if (provider.failing) return response.writeHead(500).end('{"error":{"message":"The model has crashed"}}')
    provider.calls += 1
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const output = provider.calls
    const usage = { prompt_tokens: PROMPT, completion_tokens: output, total_tokens: PROMPT + output }
    for (const frame of [
      chunk({ role: 'assistant', content: 'OK' }),
      chunk({}, { finish_reason: 'stop' }),
      { ...chunk({}), choices: [], usage },
    ])
      response.write(`data: ${JSON.stringify(frame)}\n\n`)
    response.end('data: [DONE]\n\n')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(provider, {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    close: () => new Promise((resolve) => server.close(resolve)),
  })
}

const chunk = (delta, more = {}) => ({
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'own-model' },
  ...{ choices: [{ index: 0, delta, ...more }] },
})
