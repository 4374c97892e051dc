// A provider of every wire in a process of its own. The words of a request tell it what to answer and how to fail:
// `[say words=40 pace=100 tool=0 fault=cut@17]`. It takes care not to run ahead of who does not read.
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { FRAMES, JSON_ANSWERS } from '../../../bench/lib/mock-frames.mjs'
import { TOOL_FRAMES } from './tool-frames.mjs'

const SAY = /\[say words=(\d+) pace=(\d+) tool=(\d) fault=(\w+)@(\d+)\]/g
function wireOf(url) {
  if (url.endsWith('/messages')) return 'anthropic'
  if (url.includes('/models/')) return 'gemini'
  return url.endsWith('/responses') ? 'responses' : 'chat'
}

/** Only who is configured as failing fails: what a lane does to one request, it does to everybody's next. */
const isFailing = ({ headers }) => `${headers.authorization} ${headers['x-api-key']}`.includes('failing')

/** The last one counts: a conversation that goes on carries the older ones along. */
function deliveredIn(text) {
  const [, words, pace, tool, fault, at] = [...text.matchAll(SAY)].at(-1) ?? [0, 20, 0, 0, 'none', 0]
  return { words: Number(words), pace: Number(pace), tool: tool === '1', fault, at: Number(at) }
}

async function answer(request, response, text) {
  const wire = wireOf(request.url)
  const reported = { ...deliveredIn(text), ...(isFailing(request) ? {} : { fault: 'none' }) }
  if (reported.fault === 'busy') return refuse(response, 429)
  if (reported.fault === 'broken') return refuse(response, 500)
  const isStream = request.url.includes(':stream') || /"stream":\s*true/.test(text)
  if (!isStream && !reported.tool) return whole(response, wire, reported)
  await stream(response, wire, reported)
}

function refuse(response, status) {
  response.writeHead(status, { 'content-type': 'application/json', ...(status === 429 ? { 'retry-after': '1' } : {}) })
  response.end(JSON.stringify({ error: { message: 'Not now.', type: 'server_error', param: null, code: null } }))
}

async function whole(response, wire, { words, pace, fault }) {
  await sleep(Math.min(words * pace, 2000))
  const body = JSON.stringify(JSON_ANSWERS[wire]('far'))
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
  if (fault !== 'cut') return response.end(body)
  response.write(body.slice(0, 40))
  response.destroy()
}

async function stream(response, wire, { words, pace, tool, fault, at }) {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const frames = tool ? TOOL_FRAMES[wire]('far') : undefined
  if (frames) return response.end(frames.join(''))
  const { opening, words: emitted, ending } = FRAMES[wire]('far', words)
  response.write(opening)
  for (let word = 0; word < words && !response.destroyed; word++) {
    if (fault === 'cut' && word === at) return response.destroy()
    if (!response.write(emitted[word])) await drained(response)
    if (pace > 0) await sleep(pace)
  }
  response.end(ending)
}

function drained(response) {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })
}

const server = createServer((request, response) => {
  const parts = []
  request.on('data', (part) => parts.push(part))
  request.on('end', () =>
    answer(request, response, Buffer.concat(parts).toString('latin1')).catch(() => response.destroy()),
  )
  request.on('error', () => {})
  response.on('error', () => {})
})
server.keepAliveTimeout = 5_000
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit())
