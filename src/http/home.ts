import type { Exchange } from './exchange.ts'
import { sendProblem } from './send-problem.ts'
import { refuseUnknownPath } from './unknown-path.ts'
import { writeHead } from './write-head.ts'

/** Whoever types the server's address into a browser means the console; a program that asks here has lost its `/v1`. */
export function home(exchange: Exchange, offered: readonly string[]): void {
  const { request, response, edge } = exchange
  const isBrowser = String(request.headers.accept ?? '').includes('text/html')
  if (edge.console === undefined || !isBrowser) sendProblem(exchange, refuseUnknownPath('GET', '/', offered))
  else {
    writeHead(exchange, 302, { location: '/console', 'content-length': '0', 'cache-control': 'no-store' })
    response.end()
  }
}
