import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createProviderAnswer, type ProviderAnswer } from './answers.ts'
import { CALM, type NetworkFaults } from './network-faults.ts'

/** How a provider answers one request. */
export type Script = (providerAnswer: ProviderAnswer) => Promise<void>

/** A provider on a real socket that plays a script, chosen by the name of the model that is asked for. */
export interface FaultUpstream {
  /** Ends in /v1, for a `base_url`. */
  readonly baseUrl: string
  readonly port: number
  /** Every request that has come, oldest first. */
  readonly providerAnswers: readonly ProviderAnswer[]
  /** Forgets the requests so far. */
  forget(): void
  /** How the bytes travel from now on. */
  networkFaults: NetworkFaults
  close(): Promise<void>
}

export async function startFaultUpstream(scriptOf: (model: string) => Script | undefined): Promise<FaultUpstream> {
  const sockets = new Set<Socket>()
  const providerAnswers: ProviderAnswer[] = []
  const upstream = { networkFaults: CALM }

  const server = createServer((socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    // Every request of a connection that is kept waits for its end.
    socket.setMaxListeners(0)
    // A connection that the other side resets is seen as a close.
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    readRequests(socket, (receivedRequest, receivedHeaders, path) => {
      const providerAnswer = createProviderAnswer({
        socket,
        receivedRequest: { ...receivedByPath(path), ...receivedRequest },
        receivedHeaders,
        networkFaults: upstream.networkFaults,
      })
      providerAnswers.push(providerAnswer)
      const script = scriptOf(providerAnswer.model)
      if (script) void script(providerAnswer)
      else socket.end(`HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n`)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return Object.assign(upstream, {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    port,
    providerAnswers,
    forget() {
      providerAnswers.length = 0
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  })
}

const HEAD_END = '\r\n\r\n'

type OnRequest = (receivedRequest: Record<string, unknown>, receivedHeaders: Headers, path: string) => void

function readRequests(socket: Socket, onRequest: OnRequest): void {
  let text = Buffer.alloc(0)
  socket.on('data', (bytes) => {
    text = Buffer.concat([text, bytes])
    for (let end = text.indexOf(HEAD_END); end !== -1; end = text.indexOf(HEAD_END)) {
      const head = text.subarray(0, end).toString('latin1')
      const headers = headersOf(head)
      const length = Number(headers.get('content-length') ?? 0)
      const bodyAt = end + HEAD_END.length
      if (text.length < bodyAt + length) return
      const body = text.subarray(bodyAt, bodyAt + length).toString('utf8')
      text = text.subarray(bodyAt + length)
      onRequest(JSON.parse(body), headers, head.split(' ')[1] ?? '/')
    }
  })
}

/** Gemini has in the path what others have in the body. */
function receivedByPath(path: string): Record<string, unknown> {
  const [, model, method] = /\/models\/([^/:]+):(\w+)/.exec(path) ?? []
  return model === undefined ? {} : { model: decodeURIComponent(model), stream: method === 'streamGenerateContent' }
}

const headersOf = (head: string): Headers =>
  new Headers(
    head
      .split('\r\n')
      .slice(1)
      .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  )
