// A client that sees each piece of an answer when it arrives, over HTTP/1.1 and HTTP/2.

import { request as plainRequest } from 'node:http'
import { connect, constants } from 'node:http2'
import { request as tlsRequest } from 'node:https'
import { within } from './machine.mjs'

const STEP_MS = 15_000

/** `target`: `{ url, ca, key }`; the name in the certificate is that of the proxies' examples. */
const NAME = 'llm.example.com'

/** A POST, or a GET without a body. Resolves with the head; `text` waits for the rest, `reads` for a text in what comes. */
export function send(
  { url, ca, key },
  path,
  { body, localAddress, method = body === undefined ? 'GET' : 'POST' } = {},
) {
  const { hostname, port, protocol, pathname } = new URL(url)
  const bytes = body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const options = {
    ...{ hostname, port, method, ca, localAddress, agent: false, servername: NAME },
    path: `${pathname.replace(/\/$/, '')}${path}`,
    headers: {
      host: protocol === 'https:' ? `${NAME}:${port}` : `${hostname}:${port}`,
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(bytes === undefined ? {} : { 'content-type': 'application/json', 'content-length': bytes.length }),
    },
  }
  let sent
  const answered = new Promise((resolve, reject) => {
    sent = (protocol === 'https:' ? tlsRequest : plainRequest)(options)
    sent.once('response', (response) => {
      resolve({
        status: response.statusCode,
        headers: response.headers,
        ...readerOf(response),
      })
    })
    // A server may refuse before it has read the body; its answer comes before the error of the connection.
    sent.on('error', reject)
    sent.end(bytes)
  })
  const answer = within(120_000, `an answer of ${url}`, answered)
  answer.catch(() => {})
  return Object.assign(answer, { disconnect: () => sent.destroy() })
}

export async function sendOverHttp2({ url, ca, key }, path, { body }) {
  const session = connect(url, { ca, servername: NAME })
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: 'POST',
    [constants.HTTP2_HEADER_PATH]: path,
    [constants.HTTP2_HEADER_AUTHORITY]: `${NAME}:${new URL(url).port}`,
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
  })
  stream.end(JSON.stringify(body))
  const reader = readerOf(stream)
  stream.once('close', () => session.close())
  const head = new Promise((resolve, reject) => {
    stream.once('response', (headers) => resolve({ status: headers[':status'], headers }))
    for (const source of [stream, session]) source.once('error', reject)
  })
  return { ...(await within(STEP_MS, 'an answer over HTTP/2', head)), ...reader }
}

function readerOf(stream) {
  let text = ''
  let wake = () => {}
  stream.setEncoding('utf8').on('data', (piece) => {
    text += piece
    wake()
  })
  const ended = new Promise((resolve) => {
    stream.once('end', () => resolve('end'))
    stream.once('error', (error) => resolve(error))
  })
  return {
    /** What has arrived so far. */
    soFar: () => text,
    /** Resolves when the words have arrived. */
    reads: (words) =>
      within(
        STEP_MS,
        `the arrival of ${JSON.stringify(words)} after ${JSON.stringify(text)}`,
        new Promise((resolve, reject) => {
          wake = () => text.includes(words) && resolve()
          wake()
          void ended.then((how) => text.includes(words) || reject(new Error(`the answer ended (${how}): ${text}`)))
        }),
      ),
    text: async () => {
      const how = await within(120_000, 'the end of the answer', ended)
      if (how !== 'end') throw how
      return text
    },
  }
}

export const chatBody = (over = {}) => ({
  model: 'demo',
  stream: true,
  messages: [{ role: 'user', content: 'Hello' }],
  ...over,
})
