import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Upstream } from '../catalog/catalog.ts'
import { systemClock } from '../lib/clock.ts'
import { Stopper } from '../lib/stop-signal.ts'
import type { ResolveHost } from './address-guard.ts'
import { createOriginPools } from './origin-pools.ts'
import { createSend, type UpstreamCall } from './send.ts'
import type { UpstreamAnswer, UpstreamFailed, UpstreamOutcome } from './upstream-answer.ts'

const open: (() => void | Promise<void>)[] = []

/** To be called after each test. */
export async function closeAll(): Promise<void> {
  for (const close of open.splice(0).reverse()) await close()
}

/** What a raw server has read of one request, once it is whole. */
export interface RawRequest {
  readonly socket: Socket
  readonly head: string
  readonly body: string
}

export interface RawProvider {
  readonly port: number
  readonly url: string
  readonly requests: RawRequest[]
  /** Connections ever accepted, and those that ended. */
  readonly counted: { opened: number; closed: number }
}

/** A provider that says exactly the bytes that a test wants. Nothing is answered but what `answer` writes. */
export async function rawProvider(
  answer: (request: RawRequest) => void,
  { greeting = '' }: { readonly greeting?: string } = {},
): Promise<RawProvider> {
  const requests: RawRequest[] = []
  const counted = { opened: 0, closed: 0 }
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    counted.opened++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      counted.closed++
      sockets.delete(socket)
    })
    if (greeting !== '') socket.write(greeting)
    let text = ''
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1')
      for (let whole = cutRequest(text); whole !== undefined; whole = cutRequest(text)) {
        text = whole.rest
        const request = { socket, head: whole.head, body: whole.body }
        requests.push(request)
        answer(request)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  open.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, url: `http://127.0.0.1:${port}/v1`, requests, counted }
}

function cutRequest(text: string): { head: string; body: string; rest: string } | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const head = text.slice(0, end)
  const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
  const from = end + 4
  return text.length < from + length
    ? undefined
    : { head, body: text.slice(from, from + length), rest: text.slice(from + length) }
}

export const TIMEOUTS: Upstream['timeouts'] = {
  connectMs: 5000,
  firstByteMs: 20_000,
  jsonAnswerMs: 60_000,
  idleMs: 20_000,
  noProgressMs: 20_000,
  totalMs: 60_000,
}

export const upstreamAt = (baseUrl: string, more: Partial<Upstream> = {}): Upstream => ({
  id: 'far',
  wire: 'chat',
  dialect: 'generic',
  baseUrl,
  apiVersion: undefined,
  apiKey: undefined,
  allowPrivate: true,
  timeouts: TIMEOUTS,
  headers: new Map(),
  disconnectPolicy: 'cancel_estimate',
  ...more,
})

export const nobodyResolves: ResolveHost = () => Promise.reject(new Error('no name should be looked up here'))

/** The real caller on real pools. */
export function caller(more: { readonly resolve?: ResolveHost; readonly ca?: string } = {}) {
  const pools = createOriginPools({ resolve: nobodyResolves, ...more })
  open.push(() => pools.close())
  const call = createSend({
    demo: { answer: () => Promise.reject(new Error('this provider is on the network')) },
    ...{ pools, nowMicros: () => systemClock.nowMicros(), userAgent: 'millrace/test' },
  })
  return {
    pools,
    call: (upstream: Upstream, more: Partial<UpstreamCall> = {}) =>
      call({
        upstream,
        model: 'far-model',
        body: Buffer.from('{"a":1}'),
        delivery: 'stream',
        signal: new Stopper(),
        ...more,
      }),
  }
}

export function answered(outcome: UpstreamOutcome): UpstreamAnswer {
  if (outcome.kind !== 'answer') throw new Error(`No answer: ${outcome.reason}, ${outcome.message}`)
  return outcome
}

export function failedWith(outcome: UpstreamOutcome): UpstreamFailed {
  if (outcome.kind !== 'failed') throw new Error(`An answer of status ${outcome.status}`)
  return outcome
}

/** Everything that comes, and how it ended: undefined for an end, else the error's name. */
export async function readAll({ body }: UpstreamAnswer): Promise<{ text: string; reads: number; error?: Error }> {
  let text = ''
  let reads = 0
  try {
    for (let chunks = await body.read(); chunks.length > 0; chunks = await body.read()) {
      reads++
      text += Buffer.concat(chunks).toString('latin1')
    }
    return { text, reads }
  } catch (error) {
    return { text, reads, error: error as Error }
  }
}

export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await holds()); tries++) {
    if (tries > 2000) throw new Error('It did not come to pass')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

export const SSE_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
export const chunked = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
export const LAST_CHUNK = '0\r\n\r\n'
export const jsonAnswer = (text: string, head = ''): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n${head}\r\n${text}`
