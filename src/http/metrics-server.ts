import { createServer } from 'node:http'
import { type ListenOutcome, listenOn } from './socket/listen-on.ts'

/** Metrics have a port of their own, so that exposing the API never exposes them. */
export interface MetricsServer {
  listen(address: { host: string; port: number }): Promise<ListenOutcome>
  close(): void
}

export function createMetricsServer(deps: {
  render(): Promise<{ readonly contentType: string; readonly body: string }>
}): MetricsServer {
  const server = createServer((request, response) => {
    if (request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('Metrics are at /metrics\n')
      return
    }
    deps.render().then(
      ({ contentType, body }) => response.writeHead(200, { 'content-type': contentType }).end(body),
      () => response.writeHead(500).end(),
    )
  })
  return {
    listen: (address) => listenOn(server, address),
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
