import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { visibleBytes } from './visible.mjs'

/** For what is on its way to a client that cannot see it: a role, a reason to finish, a head. */
const UNSEEN_MS = 40
/** A chunk that ends the answer is kept until the charge is durable; who waits for its words waits for ever. */
const WITHHELD_MS = 1000

/** What a client asks in either protocol. */
const PATHS = { chat: '/chat/completions', responses: '/responses' }
const BODIES = {
  chat: (content) => ({ messages: [{ role: 'user', content }] }),
  responses: (content) => ({ input: content }),
}
export const PROTOCOLS = Object.keys(PATHS)

/** One request to its end. */
export async function sendWhole(gateway, receivedRequest) {
  const { response } = await send(gateway, receivedRequest)
  const text = Buffer.concat(await response.toArray()).toString()
  return { id: response.headers['x-request-id'], status: response.statusCode, text }
}

/** A streamed request that is hung up on as soon as the provider is silent and so many bytes of its words have come. */
export async function sendAndDisconnect(gateway, request, { silent, bytes }) {
  const controller = new AbortController()
  const receivedRequest = { id: undefined, seen: 0 }
  const closed = send(gateway, { ...request, stream: true }, controller.signal)
    .then(({ response }) => {
      receivedRequest.id = response.headers['x-request-id']
      return readWords(response, receivedRequest)
    })
    .catch(() => {})
  await silent
  await pause(UNSEEN_MS)
  for (let waited = 0; receivedRequest.seen < bytes && waited < WITHHELD_MS; waited += 5) await pause(5)
  controller.abort()
  await closed
  return receivedRequest
}

function send({ baseUrl, key }, { protocol, model, content, stream }, signal) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const outgoing = request(`${baseUrl}${PATHS[protocol]}`, { method: 'POST', headers, agent: false, signal })
    outgoing.on('response', (response) => resolve({ response })).on('error', reject)
    outgoing.end(JSON.stringify({ model, stream, ...BODIES[protocol](content) }))
  })
}

async function readWords(response, receivedRequest) {
  const pieces = []
  let rest = ''
  for await (const text of response.setEncoding('utf8')) {
    const frames = (rest + text).split('\n\n')
    rest = frames.pop()
    for (const frame of frames) {
      const [, json] = /^data: (\{.*)/m.exec(frame) ?? []
      if (json) pieces.push(JSON.parse(json))
    }
    receivedRequest.seen = visibleBytes(pieces)
  }
}
