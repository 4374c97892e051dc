// A provider of every language, by the path that it is asked under. The model name orders what it answers: `json` is one
// JSON answer, or the same as a stream where a stream is asked for, `cN-dM` a stream of N frames of words with M milliseconds between them, `cN-dM-padded` the same with padding;
// with d0 all of them are written at once.
import { createServer } from 'node:http'
import { FRAMES, JSON_ANSWERS } from './mock-frames.mjs'

const prepared = new Map()

function answerOf(language, model) {
  const key = `${language} ${model}`
  const known = prepared.get(key) ?? prepare(language, model)
  prepared.set(key, known)
  return known
}

function prepare(language, model) {
  if (model === 'json') return { json: JSON.stringify(JSON_ANSWERS[language](model)) }
  const [, count, pause, style] = /^c(\d+)-d(\d+)(?:-(\w+))?$/.exec(model)
  const { opening, words, ending } = FRAMES[language](model, Number(count), style)
  return { pause: Number(pause), opening, words, ending, whole: Buffer.from(opening + words.join('') + ending) }
}

function send(response, { json, pause, opening, words, ending, whole }) {
  if (json !== undefined) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': json.length }).end(json)
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (pause === 0) {
    response.end(whole)
    return
  }
  response.write(opening)
  let at = 0
  const timer = setInterval(() => {
    if (at < words.length) {
      response.write(words[at++])
      return
    }
    clearInterval(timer)
    response.end(ending)
  }, pause)
  response.on('close', () => clearInterval(timer))
}

function languageOf(url) {
  if (url.endsWith('/messages')) return 'anthropic'
  if (url.includes('/models/')) return 'gemini'
  return url.endsWith('/responses') ? 'responses' : 'chat'
}

const server = createServer((request, response) => {
  const parts = []
  request.on('data', (part) => parts.push(part))
  request.on('end', () => {
    const asked = Buffer.concat(parts).toString('latin1')
    const [, named] = /\/models\/([^:]+):/.exec(request.url) ?? /"model":"([^"]+)"/.exec(asked)
    const isStream = request.url.includes(':stream') || asked.includes('"stream":true')
    send(response, answerOf(languageOf(request.url), named === 'json' && isStream ? 'c20-d0' : named))
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit())
