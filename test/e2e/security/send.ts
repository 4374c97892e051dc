import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Caller } from './callers.ts'
import { type MatrixRoute, targetOf } from './routes.ts'
import type { Sample } from './samples.ts'

export interface Came {
  readonly status: number
  /** Of the error, or empty. */
  readonly code: string
  readonly text: string
  readonly headers: IncomingHttpHeaders
  /** What the request itself says, which an answer may repeat. */
  readonly said: string
}

/** Half the CPU time of `fetch`, which counts over so many requests. */
const agent = new Agent({ keepAlive: true, maxSockets: 4 })
export const closeConnections = (): void => agent.destroy()

let sent = 0

/** Sends what the sample says, as this caller, from an address of its own: addresses are limited. */
export async function send(port: number, caller: Caller, route: MatrixRoute, sample: Sample): Promise<Came> {
  sent += 1
  const { ids, query = {}, body } = sample
  const { method, surface } = route
  const changes = method !== 'GET'
  const empty = surface === 'scim' ? '' : '{}'
  const bytes = changes ? (body === undefined ? empty : JSON.stringify(body)) : ''
  const headers: Record<string, string | number | undefined> = {
    'x-forwarded-for': `10.${sent >> 16}.${(sent >> 8) & 255}.${sent & 255}`,
    ...(changes && { 'content-type': surface === 'scim' ? 'application/scim+json' : 'application/json' }),
    ...(changes && { 'content-length': Buffer.byteLength(bytes) }),
    ...caller.headers(changes),
  }
  const known = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined))
  const path = `${targetOf(route, ids)}?${new URLSearchParams(query)}`
  const answer = await new Promise<{ readonly status: number; readonly headers: IncomingHttpHeaders; text: string }>(
    (resolve, reject) => {
      const asked = request({ agent, host: '127.0.0.1', port, method, path, headers: known }, (response) => {
        const { statusCode: status = 0, headers: came } = response
        text(response).then((read) => resolve({ status, headers: came, text: read }), reject)
      })
      asked.on('error', reject).end(bytes)
    },
  )
  const [, code = ''] = /"error":\{[^}]*?"code":"([a-z_]+)"/.exec(answer.text) ?? []
  return { ...answer, code, said: decodeURIComponent(path) + bytes }
}
