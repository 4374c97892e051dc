import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http'
import type { TestServer } from './start-server.ts'

/** A question as it shall go over the wire: no path is tidied, and any host may be named. */
export interface BytesSent {
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string | Buffer
}

/** An answer as it came: nothing is unpacked. */
export interface BytesReceived {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/** Asks on a connection of its own, and waits for the whole answer. */
export async function sendBytes(
  { port }: Pick<TestServer, 'port'>,
  path: string,
  { method = 'GET', headers = {}, body }: BytesSent = {},
): Promise<BytesReceived> {
  const receivedRequest = request({ host: '127.0.0.1', port, path, method, headers, agent: false })
  receivedRequest.end(body)
  const [answer] = (await once(receivedRequest, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = await answer.toArray()
  return { status: answer.statusCode ?? 0, headers: answer.headers, bytes: Buffer.concat(chunks) }
}

/** The code of a refusal of the console. */
export const codeIn = ({ bytes }: BytesReceived): unknown => JSON.parse(bytes.toString()).error.code
