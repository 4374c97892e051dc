import { whenDrained } from '../answer/answer-over.ts'
import { endAnswer } from '../answer/end-answer.ts'
import { sendJsonBytes } from '../answer/send-json.ts'
import { watchClient } from '../answer/watch-client.ts'
import { type Headers, writeHead } from '../answer/write-head.ts'
import type { Exchange } from '../exchange.ts'
import { API_HEADERS } from './page-headers.ts'

/** What the routes answered, as this edge writes answers: with the request's id and the headers of the console. */
export async function sendAnswer(exchange: Exchange, answer: Response): Promise<void> {
  const type = answer.headers.get('content-type') ?? 'application/json'
  const cookies = answer.headers.getSetCookie()
  const headers: Record<string, string | string[]> = { ...API_HEADERS, 'content-type': type, 'set-cookie': cookies }
  for (const name of ['content-disposition', 'retry-after', 'allow']) {
    const value = answer.headers.get(name)
    if (value !== null) headers[name] = value
  }
  if (type.startsWith('application/json')) {
    return sendJsonBytes(exchange, answer.status, Buffer.from(await answer.arrayBuffer()), headers)
  }
  await sendPieces(exchange, answer, headers)
}

/** A file that is made while it is sent, no faster than its reader takes it. */
async function sendPieces(exchange: Exchange, answer: Response, headers: Headers): Promise<void> {
  const { response } = exchange
  const client = watchClient(exchange)
  writeHead(exchange, answer.status, headers)
  const reader = answer.body?.getReader()
  try {
    for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader?.read()) {
      if (client.gone) break
      if (!response.write(read.value)) await whenDrained(exchange)
    }
  } finally {
    await reader?.cancel()
  }
  client.end()
  endAnswer(exchange, '')
}
