import { createServer, type IncomingMessage } from 'node:http'
import { type ListenOutcome, listenOn } from './listener.ts'
import { connectionOf, SERVED_VERSIONS } from './request-context.ts'

/** Metrics have a port of their own, so that exposing the API never exposes them. */
interface MetricsServer {
  listen(address: { host: string; port: number }): Promise<ListenOutcome>
  close(): void
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** One request a connection: a scraper connects every few seconds, and later bytes are ignored. */
export function createMetricsServer(deps: {
  render(): Promise<{ readonly contentType: string; readonly body: string }>
}): MetricsServer {
  const answerTo = async (request: IncomingMessage): Promise<Answer> => {
    const refusal = refusalOf(request)
    if (refusal !== undefined) return refusal
    const { contentType, body } = await deps.render()
    return { status: 200, headers: { 'content-type': contentType }, body }
  }
  const server = createServer((request, response) => {
    const connection = connectionOf(request.socket)
    request.resume()
    if (connection.isClosing) return
    connection.isClosing = true
    const send = ({ status, headers, body }: Answer) => {
      const framing = { 'content-length': Buffer.byteLength(body), connection: 'close' }
      response.writeHead(status, { ...headers, ...framing }).end(request.method === 'HEAD' ? undefined : body)
    }
    answerTo(request).then(send, () => send(refuse(500, 'The metrics could not be read\n')))
  })
  return {
    listen: (address) => listenOn(server, address),
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function refusalOf(request: IncomingMessage): Answer | undefined {
  if (!SERVED_VERSIONS.has(request.httpVersion)) return refuse(400, 'Only HTTP/1.0 and HTTP/1.1 are served\n')
  if (request.url?.split('?')[0] !== '/metrics') return refuse(404, 'Metrics are at /metrics\n')
  if (request.method === 'GET' || request.method === 'HEAD') return undefined
  return refuse(405, 'Metrics are read with GET\n', { allow: 'GET, HEAD' })
}

const refuse = (status: number, body: string, headers: Answer['headers'] = {}): Answer => ({
  status,
  headers: { 'content-type': 'text/plain', ...headers },
  body,
})
