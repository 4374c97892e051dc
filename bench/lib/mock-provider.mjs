// A provider that costs next to nothing: it answers what its model name orders. `json` is one JSON answer of 1.5 kB,
// `cN-dM` a stream of N chunks with M milliseconds between them; with d0 all of them are written at once.
import { createServer } from 'node:http'

const HEAD = { id: 'chatcmpl-mock', created: 1, system_fingerprint: 'fp' }
const frame = (json) => `data: ${JSON.stringify(json)}\n\n`
const chunk = (model, delta, finish = null) =>
  frame({ ...HEAD, object: 'chat.completion.chunk', model, choices: [{ index: 0, delta, finish_reason: finish }] })
const USAGE = { prompt_tokens: 200, completion_tokens: 200, total_tokens: 400 }
const TEXT = 'x'.repeat(60)

function completion(model) {
  const message = { role: 'assistant', content: 'y'.repeat(1200), refusal: null }
  return JSON.stringify({
    ...HEAD,
    object: 'chat.completion',
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage: USAGE,
  })
}

function stream(response, model) {
  const [, count, pause] = /^c(\d+)-d(\d+)/.exec(model).map(Number)
  const end = `${chunk(model, {}, 'stop')}${frame({ ...HEAD, object: 'chat.completion.chunk', model, choices: [], usage: USAGE })}data: [DONE]\n\n`
  const word = chunk(model, { content: TEXT })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const first = chunk(model, { role: 'assistant', content: '' })
  if (pause === 0) {
    response.end(first + word.repeat(count) + end)
    return
  }
  response.write(first)
  let left = count
  const timer = setInterval(() => {
    if (left-- > 0) {
      response.write(word)
      return
    }
    clearInterval(timer)
    response.end(end)
  }, pause)
  response.on('close', () => clearInterval(timer))
}

const server = createServer((request, response) => {
  const parts = []
  request.on('data', (part) => parts.push(part))
  request.on('end', () => {
    // The model stands at the end of a rewritten body or at its beginning; a pattern is cheaper than parsing megabytes.
    const model = /"model":"([^"]+)"/.exec(Buffer.concat(parts).toString('latin1'))?.[1] ?? 'json'
    if (!model.startsWith('json')) return stream(response, model)
    const body = completion(model)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body)
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit())
