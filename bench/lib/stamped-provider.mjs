// A provider of paced streams: each chunk says when it was written, by the clock that all processes of a machine share. The model
// `cN-dM` is N chunks with M milliseconds between them. It speaks just enough HTTP, so that the server is what is full first.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'

const [keyFile, certFile] = process.argv.slice(2)
const STAMP = '@T'
const STAMP_DIGITS = 16
const CHUNK_BYTES = 250
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'

const httpChunk = (text) => `${text.length.toString(16)}\r\n${text}\r\n`
const frame = (model, choices, more = {}) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model, choices, ...more })}\n\n`

/** What stands before and behind the stamp. */
function chunkOf(model) {
  const blank = STAMP + '0'.repeat(STAMP_DIGITS)
  const choice = (content) => ({ index: 0, delta: { content }, logprobs: null, finish_reason: null })
  const padding = ' '.repeat(Math.max(0, CHUNK_BYTES - frame(model, [choice(blank)]).length))
  return httpChunk(frame(model, [choice(blank + padding)])).split(blank)
}

function endOf(model) {
  const usage = { prompt_tokens: 200, completion_tokens: 200, total_tokens: 400 }
  const stop = frame(model, [{ index: 0, delta: {}, finish_reason: 'stop' }])
  return `${httpChunk(`${stop}${frame(model, [], { usage })}data: [DONE]\n\n`)}0\r\n\r\n`
}

const stamp = () => STAMP + String(process.hrtime.bigint() / 1000n).padStart(STAMP_DIGITS, '0')

/** Sends one answer; returns its timer. */
function answer(socket, body) {
  const model = /"model":"([^"]+)"/.exec(body)?.[1] ?? 'c1-d0'
  const [, count, pause] = /^c(\d+)-d(\d+)/.exec(model).map(Number)
  const [before, behind] = chunkOf(model)
  let left = count
  socket.write(HEAD, 'latin1')
  const next = () => {
    if (left-- > 0) return socket.write(before + stamp() + behind, 'latin1')
    clearInterval(timer)
    socket.write(endOf(model), 'latin1')
  }
  const timer = setInterval(next, Math.max(1, pause))
  next()
  return timer
}

function onConnection(socket) {
  socket.setNoDelay(true)
  socket.on('error', () => {})
  let received = ''
  let timer
  socket.on('close', () => clearInterval(timer))
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1')
    const bodyAt = received.indexOf('\r\n\r\n') + 4
    if (bodyAt < 4) return
    const [, length] = /\r\ncontent-length: *(\d+)/i.exec(received) ?? [undefined, 0]
    if (received.length < bodyAt + Number(length)) return
    const body = received.slice(bodyAt)
    received = ''
    timer = answer(socket, body)
  })
}

const server =
  keyFile === undefined
    ? createServer(onConnection)
    : createTlsServer({ key: readFileSync(keyFile), cert: readFileSync(certFile) }, onConnection)
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit())
