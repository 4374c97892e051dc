import type { IncomingMessage } from 'node:http'
import { urlOf } from '../lib/network.ts'
import { createServer, get } from '../lib/node-http.ts'
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

const IDENTIFY_MS = 1000
const IDENTIFY_BYTES_MAX = 64 * 1024

/** Whether a Millrace listens there: it names itself at `/v1`, and every line of its metrics. A server with TLS is not recognised. */
export function isMillrace({ host, port }: { readonly host: string; readonly port: number }): Promise<boolean> {
  const asks = ['/v1', '/metrics'].map((path) => readStart(`${urlOf(host, port)}${path}`))
  return Promise.all(asks).then((answers) => answers.some((text) => /"name":"millrace"|^millrace_/m.test(text)))
}

/** The first bytes of an answer; empty without one in time. */
function readStart(url: string): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const request = get(url, { timeout: IDENTIFY_MS, agent: false }, (response) => {
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
        if (text.length > IDENTIFY_BYTES_MAX) request.destroy()
      })
    })
    const timer = setTimeout(() => request.destroy(), IDENTIFY_MS)
    request.on('error', () => {})
    request.on('close', () => {
      clearTimeout(timer)
      resolve(text)
    })
  })
}
