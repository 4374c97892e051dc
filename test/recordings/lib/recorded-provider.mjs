import { createServer } from 'node:http'

/**
 * A provider on every wire that answers with recordings. A request's first message begins with its number and a colon;
 * by that number a test has said beforehand after how many chunks the provider falls silent. One that has told why it
 * finished goes on when it may: there is nothing left to break off.
 */
export async function startRecordedProvider(exchanges) {
  const known = new Map(exchanges.map((exchange) => [exchange.id, exchange]))
  const silences = new Map()
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString()
    const body = JSON.parse(text)
    const [, model, method] = GEMINI_PATH.exec(request.url) ?? []
    const exchange = known.get(model ? decodeURIComponent(model) : body.model)
    if (body.stream !== true && method !== 'streamGenerateContent') {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(exchange.body))
      return
    }
    const silence = silences.get(Number(NUMBER.exec(text)?.[1]))
    const chunks = exchange.chunks.slice(0, silence?.after)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const send = (chunk) => response.write(frameOf(chunk))
    chunks.forEach(send)
    silence?.sent()
    if (silence && !chunks.some(isLast)) return
    await silence?.over
    exchange.chunks.slice(chunks.length).forEach(send)
    response.end(exchange.wire === 'openai-chat' ? 'data: [DONE]\n\n' : '')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    /** `sent` resolves when the chunks have been sent. Called before the request with this number is made. */
    fallSilent(number, after) {
      const silence = { after }
      const sent = new Promise((resolve) => Object.assign(silence, { sent: resolve }))
      silence.over = new Promise((resolve) => Object.assign(silence, { goOn: resolve }))
      silences.set(number, silence)
      return { sent, goOn: silence.goOn }
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** It has in the path what others have in the body. */
const GEMINI_PATH = /\/models\/([^/:]+):(\w+)/
const NUMBER = /"(\d+): /
const frameOf = (chunk) => `${chunk.type ? `event: ${chunk.type}\n` : ''}data: ${JSON.stringify(chunk)}\n\n`

const isLast = ({ type, choices, candidates, delta }) =>
  /^response\.(completed|incomplete)$/.test(type) ||
  Boolean(delta?.stop_reason) ||
  (choices ?? []).some((choice) => choice.finish_reason) ||
  (candidates ?? []).some((candidate) => candidate.finishReason)
