import { connect, type Socket } from 'node:net'
import { systemClock } from '../lib/clock.ts'
import { secureRandom } from '../lib/random-id.ts'
import { CALLER } from '../model/caller.fixture.ts'
import { problem } from '../model/problem.ts'
import type { TurnRequest } from '../model/turn.ts'
import type { ParsedBody } from '../protocols/shared/event-reader.ts'
import { createConcurrencyLimiter } from './concurrency-limiter.ts'
import { createEdge, type Edge } from './listener.ts'
import {
  type EdgeDeps,
  type EdgeOptions,
  LINGER,
  type LogFields,
  type ServedTurn,
  STALL_MS,
} from './request-context.ts'

/** A real edge on a real socket, before a house of a few lines: for the tests of this folder. */
export interface TestEdge {
  readonly edge: Edge
  readonly port: number
  readonly logs: LogFields[]
  readonly connectionLogs: LogFields[]
  /** The bodies that came through. */
  readonly bodies: ParsedBody[]
}

type Overrides = Partial<Omit<EdgeDeps, 'options'>> & { options?: Partial<EdgeOptions> }

export const GOOD_KEY = 'mr_wallet_good'

const KiB = 1024
const MiB = 1024 * KiB

/** Bounds that are out of the way of whoever does not test them. */
export const TEST_OPTIONS: EdgeOptions = {
  connectionsMax: 1000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 75_000,
  headerBytesMax: 16 * KiB,
  body: { bytesMax: 32 * MiB, expansionRatioMax: 100, depthMax: 64, valuesMax: 1_000_000 },
  linger: LINGER,
  stream: { headDelayMs: 10_000, keepAliveMs: 15_000 },
  stallMs: STALL_MS,
  allowedOrigins: [],
  trustedProxies: [],
}

const open: Edge[] = []

export async function openTestEdge({ options, ...overrides }: Overrides = {}): Promise<TestEdge> {
  const logs: LogFields[] = []
  const connectionLogs: LogFields[] = []
  const bodies: ParsedBody[] = []
  const edge = createEdge({
    clock: systemClock,
    random: secureRandom,
    options: { ...TEST_OPTIONS, ...options },
    load: createConcurrencyLimiter({
      terms: () => ({ memoryBytes: 256 * MiB, queueLength: 64, queueMs: 2000 }),
      isStrained: () => false,
      random: secureRandom,
      onShed: () => {},
    }),
    isLate: () => false,
    logRequest: (fields) => logs.push(fields),
    logConnection: (fields) => connectionLogs.push(fields),
    connectionDropped: () => {},
    findCaller: (token) =>
      token === GOOD_KEY ? { kind: 'caller', caller: CALLER } : { kind: 'refused', reason: 'unknown' },
    findCallerAgain: (caller) => ({ kind: 'caller', caller }),
    takeFromAddress: () => ({ kind: 'taken' }),
    refuseEarly: () => undefined,
    lookUpAnswer: async () => ({ kind: 'refused', problem: problem('idempotency_in_progress', 'Wait.'), leave() {} }),
    readTurn({ body }) {
      bodies.push(body)
      return { kind: 'read', request: turnOf(body) }
    },
    async serveTurn({ sink, request: asked }) {
      if (asked.delivery === 'stream') {
        await sink.write(Buffer.from('data: {"delta":"hello"}\n\n'))
        sink.end(Buffer.from('data: [DONE]\n\n'))
      } else {
        sink.end(Buffer.from('{"answer":"hello"}'))
      }
      return COMPLETED
    },
    turnRefused: () => {},
    listModels: () => [{ id: 'demo', object: 'model' }],
    listModelsForCodex: () => [{ slug: 'demo' }],
    findModel: (_caller, id) =>
      id.startsWith('demo')
        ? { kind: 'found', model: { id, object: 'model' } }
        : { kind: 'refused', problem: problem('model_not_found', `There is no model '${id}'.`, { param: 'model' }) },
    limitHeaders: () => ({}),
    describeKey: async () => ({ object: 'key', name: 'test' }),
    findReceipt: async (_caller, id) => (id.endsWith('0') ? { object: 'request', id } : undefined),
    findResponse: async () => undefined,
    readResponseEvents: async () => ({ kind: 'not-found' }),
    removeResponse: async () => false,
    console: undefined,
    unreadyReasons: () => [],
    ...overrides,
  })
  open.push(edge)
  const listening = await edge.listen({ host: '127.0.0.1', port: 0 })
  if (listening.kind !== 'listening') throw new Error(listening.kind)
  return { edge, port: listening.port, logs, connectionLogs, bodies }
}

export async function closeTestEdges(): Promise<void> {
  for (const edge of open.splice(0)) {
    edge.cut()
    await edge.stopAccepting()
  }
}

/** What a turn leaves that went well. */
export const COMPLETED: ServedTurn = { refusedWith: undefined, facts: { outcome: 'completed' } }

const turnOf = ({ bytes, members, value }: ParsedBody): TurnRequest => ({
  protocol: 'chat',
  body: { bytes, members },
  model: 'demo',
  effort: undefined,
  effortParam: 'reasoning_effort',
  delivery: value.stream === true ? 'stream' : 'json',
  wantsUsage: false,
  functionForm: false,
  outputCap: undefined,
  outputCapParam: 'max_tokens',
  choices: 1,
  ...{ inputField: 'messages', demands: [], boundTo: undefined, compacts: undefined },
  inputSize: { bodyBytes: bytes.length, inputBytes: bytes.length, messages: 1, tools: 0 },
  otherInputs: [],
  optionalFields: [],
  ignoredTools: [],
  toolNames: 0,
  toolKinds: [],
  rewritten: new Map(),
})

/** An answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A client without any manners of its own: it sends the bytes it is told to. */
export interface RawClient {
  readonly socket: Socket
  send(bytes: string | Buffer): void
  /** The next whole answer; rejects when the connection ends before it is complete. */
  answer(options?: { head?: boolean }): Promise<RawAnswer>
  /** Resolves when the server has closed; to everything that came and was not asked for. */
  closed(): Promise<string>
  received(): string
}

export function connectRaw(port: number): RawClient {
  const socket = connect({ port, host: '127.0.0.1' })
  let received = Buffer.alloc(0)
  let ended = false
  const wakes = new Set<() => void>()
  const wake = () => {
    for (const each of [...wakes]) each()
  }
  const change = () =>
    new Promise<void>((resolve) => {
      const once = () => {
        wakes.delete(once)
        resolve()
      }
      wakes.add(once)
    })
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    wake()
  })
  const onEnd = () => {
    ended = true
    wake()
  }
  socket.on('end', onEnd).on('close', onEnd).on('error', onEnd)

  return {
    socket,
    send: (bytes) => {
      socket.write(bytes)
    },
    async answer({ head = false } = {}) {
      for (;;) {
        const parsed = parseAnswer(received, head)
        if (parsed) {
          received = received.subarray(parsed.length)
          return parsed.answer
        }
        if (ended) throw new Error(`the connection ended after: ${received.toString()}`)
        await change()
      }
    },
    async closed() {
      while (!ended) await change()
      socket.destroy()
      return received.toString()
    },
    received: () => received.toString(),
  }
}

function parseAnswer(bytes: Buffer, headOnly: boolean): { answer: RawAnswer; length: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [line.split(':')[0]!.toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  )
  const status = Number(statusLine.split(' ')[1])
  const bodyStart = headEnd + 4
  const whole = (body: string, length: number) => ({ answer: { status, headers, body }, length })
  if (headOnly || status === 100) return whole('', bodyStart)
  if (headers['transfer-encoding'] === 'chunked') {
    const end = bytes.indexOf('0\r\n\r\n', bodyStart)
    return end < 0 ? undefined : whole(unchunk(bytes.subarray(bodyStart, end).toString()), end + 5)
  }
  const length = Number(headers['content-length'] ?? 0)
  if (bytes.length < bodyStart + length) return undefined
  return whole(bytes.toString('utf8', bodyStart, bodyStart + length), bodyStart + length)
}

const unchunk = (text: string): string =>
  text
    .split('\r\n')
    .filter((_, index) => index % 2 === 1)
    .join('')

export interface RequestParts {
  method?: string
  target?: string
  headers?: readonly string[]
  body?: string | Buffer
}

/** A request to the chat endpoint, good unless told otherwise. */
export function chatRequest({ headers = [], body = '{"model":"demo"}', ...rest }: RequestParts = {}): Buffer {
  const bytes = Buffer.from(body)
  const given = headers.map((line) => line.split(':')[0]!.toLowerCase())
  const defaults = [
    'host: test',
    `authorization: Bearer ${GOOD_KEY}`,
    'content-type: application/json',
    ...(given.includes('transfer-encoding') ? [] : [`content-length: ${bytes.length}`]),
  ].filter((line) => !given.includes(line.split(':')[0]!))
  return Buffer.concat([
    head({ method: 'POST', target: '/v1/chat/completions', headers: [...defaults, ...headers], ...rest }),
    bytes,
  ])
}

export function head({ method = 'GET', target = '/v1', headers = ['host: test'] }: RequestParts = {}): Buffer {
  return Buffer.from(`${[`${method} ${target} HTTP/1.1`, ...headers].join('\r\n')}\r\n\r\n`)
}

export const getRequest = (target: string, ...headers: string[]): Buffer =>
  head({ target, headers: ['host: test', `authorization: Bearer ${GOOD_KEY}`, ...headers] })

/** Sends one request on a connection of its own. */
export async function ask(port: number, bytes: Buffer | string, options?: { head?: boolean }): Promise<RawAnswer> {
  const client = connectRaw(port)
  client.send(bytes)
  const answer = await client.answer(options)
  client.socket.destroy()
  return answer
}

/** What the test lets come when it likes. */
export function later<T>() {
  let come = (_value: T) => {}
  const comes = new Promise<T>((resolve) => {
    come = resolve
  })
  return { comes, come: (value: T) => come(value) }
}
