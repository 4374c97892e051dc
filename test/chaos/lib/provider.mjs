import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { BYTES_PER_TOKEN } from './scene.mjs'

const WORD_MS = 10
const SLOW_MS = 500
/** What breaks an answer, and does not only come late. */
const FAILS = new Set(['cut', 'error', 'hang'])
const FAULT = /\[(cut|error|hang|busy|refuse) (\d+)\]/

/**
 * A provider over the network that counts as the demo does, and fails where the words of the request tell it to: the same
 * request fails in the same way however often it comes. It outlives every server that asks it. `faultOf` says for the words of a
 * request what goes wrong, and after how many words.
 */
export async function startProvider(faultOf = (content) => FAULT.exec(content)?.slice(1)) {
  const server = createServer((request, response) => {
    const parts = []
    request.on('data', (part) => parts.push(part))
    request.on('end', () => void answer(JSON.parse(Buffer.concat(parts).toString('utf8')), response, faultOf))
    request.on('error', () => {})
    response.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
  return server.address().port
}

async function answer(receivedRequest, response, faultOf) {
  const content = receivedRequest.messages.map((message) => message.content).join('')
  const [fault, at] = faultOf(content) ?? []
  if (fault === 'slow') await sleep(SLOW_MS)
  if (fault === 'busy') return refuse(response, 429, 'Rate limit reached.')
  if (fault === 'refuse') return refuse(response, 500, 'It broke.')
  const wanted = Number(/count to (\d+)$/.exec(content)[1])
  const count = Math.min(wanted, receivedRequest.max_completion_tokens ?? receivedRequest.max_tokens)
  const words = Array.from({ length: count }, (_, index) => (index === 0 ? '1' : ` ${index + 1}`))
  const promptTokens = Math.ceil((Buffer.byteLength(content) + BYTES_PER_TOKEN) / BYTES_PER_TOKEN)
  const usage = { prompt_tokens: promptTokens, completion_tokens: count, total_tokens: promptTokens + count }
  const emitted = { model: receivedRequest.model, words, finish: count < wanted ? 'length' : 'stop', usage }
  if (receivedRequest.stream) await stream(response, emitted, fault, Number(at))
  else await whole(response, emitted, fault)
}

const errorOf = (message) => ({ error: { message, type: 'server_error', param: null, code: null } })

function refuse(response, status, message) {
  response.writeHead(status, { 'content-type': 'application/json', ...(status === 429 ? { 'retry-after': '1' } : {}) })
  response.end(JSON.stringify(errorOf(message)))
}

const chunkOf = (model, delta, finish = null) => ({
  id: 'chatcmpl-far',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model,
  choices: [{ index: 0, delta, finish_reason: finish }],
})

async function stream(response, { model, words, finish, usage }, fault, at) {
  const write = (event) => response.write(`data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  write(chunkOf(model, { role: 'assistant', content: '' }))
  for (const [index, content] of words.entries()) {
    if (response.destroyed) return
    if (FAILS.has(fault) && index === at) return failInside(response, write, fault)
    write(chunkOf(model, { content }))
    await sleep(WORD_MS)
  }
  write(chunkOf(model, {}, finish))
  write({ ...chunkOf(model, {}), choices: [], usage })
  response.end('data: [DONE]\n\n')
}

function failInside(response, write, fault) {
  if (fault === 'cut') response.destroy()
  if (fault !== 'error') return
  write(errorOf('The server is overloaded.'))
  response.end()
}

async function whole(response, { model, words, finish, usage }, fault) {
  await sleep(WORD_MS)
  response.writeHead(200, { 'content-type': 'application/json' })
  if (fault === 'error') return response.end(JSON.stringify(errorOf('The server is overloaded.')))
  const message = { role: 'assistant', content: words.join('') }
  const choices = [{ index: 0, message, finish_reason: finish }]
  const body = JSON.stringify({
    id: 'chatcmpl-far',
    object: 'chat.completion',
    created: 1_700_000_000,
    model,
    choices,
    usage,
  })
  if (!FAILS.has(fault)) return response.end(body)
  response.write(body.slice(0, 40))
  if (fault === 'cut') response.destroy()
}
