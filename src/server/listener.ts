import type { Server, ServerOptions } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { afterSocketsRead } from '../lib/async.ts'
import { createByteBudget, createSharedByteBudget } from '../lib/bytes.ts'
import { createBag } from '../lib/collections.ts'
import { createServer } from '../lib/node-http.ts'
import { problem } from '../model/problem.ts'
import { createClients } from './client-address.ts'
import { onClientError, refuseSocket } from './client-error.ts'
import { handle } from './handle.ts'
import { beginInTurn, connectionOf, type Expectation } from './request-context.ts'
import {
  type Certificate,
  CONVERSATIONS_BYTES,
  DELIVERY_BYTES,
  type DrainState,
  type EdgeContext,
  type EdgeServices,
} from './services.ts'
import { createHeartbeat } from './sinks.ts'

export interface Edge {
  listen(address: { host: string; port: number }): Promise<ListenOutcome>
  /** `/readyz` fails and answers close their connection. New requests are still served. */
  announceDrain(): void
  /** Accepts no more connections and refuses new requests. Resolves when the last connection has ended. */
  stopAccepting(): Promise<void>
  /** Closes every open connection. */
  closeAllConnections(): void
  /** New connections get this certificate. Only of a server with TLS. */
  useCertificate(certificate: Certificate): void
}

/** ALPN offers HTTP/1.1 alone, and older versions of TLS have known weaknesses. */
const TLS_OPTIONS = { minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] } as const

/** Node's own default lets a timeout of ten seconds take forty. */
const TIMEOUT_CHECK_MS = 1000

/** Time for the first bytes of clients that have just connected. */
const UNUSED_CONNECTION_MS = 100

export function createEdge(services: EdgeServices): Edge {
  const { options } = services
  const drain: DrainState = { stage: 'open' }
  const edge: EdgeContext = {
    ...services,
    ...createClients(options.trustedProxies),
    heartbeat: createHeartbeat(options.stream),
    drain,
    deliveryMemory: createByteBudget(DELIVERY_BYTES),
    conversationMemory: createSharedByteBudget(CONVERSATIONS_BYTES),
    closeIdleConnections: () => server.closeIdleConnections(),
  }
  const serverOptions: ServerOptions = {
    // The headers are part of the request, so they may not take longer.
    headersTimeout: Math.min(options.headersTimeoutMs, options.requestTimeoutMs),
    requestTimeout: options.requestTimeoutMs,
    // Zero would mean no timeout to Node.
    keepAliveTimeout: Math.max(1, options.keepAliveTimeoutMs),
    maxHeaderSize: options.headerBytesMax,
    connectionsCheckingInterval: Math.min(TIMEOUT_CHECK_MS, options.headersTimeoutMs),
    joinDuplicateHeaders: false,
    // Node would answer without our envelope; `handle.ts` refuses these requests.
    requireHostHeader: false,
  }
  const tlsServer =
    options.tls &&
    createTlsServer({
      ...{ ...serverOptions, ...TLS_OPTIONS, ...options.tls },
      // Until it is done a client has sent no header.
      handshakeTimeout: Math.max(1, options.headersTimeoutMs),
    })
  const server: Server = tlsServer ?? createServer(serverOptions)
  // The size of all headers is bounded. Node drops headers above a maximum count without an error.
  server.maxHeadersCount = 0
  server.setTimeout(options.stallMs, onSocketTimeout)
  const sockets = createBag<Socket>()
  server.on('connection', (socket) => socket.once('close', sockets.add(socket)))
  // `connection` has the socket below TLS, which has read the handshake.
  const secured = createBag<Socket>()
  tlsServer?.on('secureConnection', (socket) => socket.once('close', secured.add(socket)))
  const onDropped = makeRoom(edge, server)
  if (options.sharesPort) {
    // The process that accepts connections would give one above `maxConnections` to this one again, and at once.
    server.on('connection', (socket) => {
      if (sockets.size <= options.connectionsMax) return
      socket.destroy()
      onDropped()
    })
  } else {
    server.maxConnections = options.connectionsMax
    server.on('drop', onDropped)
  }
  answerOn(edge, server)

  return {
    async listen(address) {
      const outcome = await listenOn(server, address)
      // For example no file descriptor left for one connection. The server goes on.
      if (outcome.kind === 'listening')
        server.on('error', (error) => edge.log.request({ outcome: 'accept_failed', error }))
      return outcome
    },
    announceDrain() {
      if (drain.stage === 'open') drain.stage = 'announced'
    },
    stopAccepting() {
      drain.stage = 'refusing'
      // Browsers open connections ahead of need. One without a byte is owed no answer.
      const closeUnused = () => {
        const close = (socket: Socket) => {
          if (socket.bytesRead === 0) socket.destroy()
        }
        sockets.each(close)
        secured.each(close)
      }
      setTimeout(closeUnused, UNUSED_CONNECTION_MS).unref()
      return closeServer(server)
    },
    closeAllConnections: () => server.closeAllConnections(),
    useCertificate: (certificate) => tlsServer?.setSecureContext({ ...TLS_OPTIONS, ...certificate }),
  }
}

/**
 * Resolves when the last connection has ended. `server.close()` of `node:http` stops the timer that ends slow requests, so a
 * stalled request would block the shutdown. Here the timer stops last.
 */
function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    NetServer.prototype.close.call(server, () => {
      server.close()
      resolve()
    })
    server.closeIdleConnections()
  })
}

/**
 * There is deliberately no listener for `upgrade`: with one, Node takes every upgrade off HTTP, and clients that only offer h2c
 * would get no answer. Without one they are ordinary requests, each the last of its connection, and `handle.ts` refuses WebSocket.
 */
function answerOn(edge: EdgeContext, server: Server): void {
  const on = (event: 'request' | 'checkContinue' | 'checkExpectation', expectation: Expectation) => {
    server.on(event, (request, response) => {
      beginInTurn(request, () => void handle(edge, request, response, expectation))
    })
  }
  on('request', 'none')
  on('checkContinue', 'continue')
  on('checkExpectation', 'unknown')
  server.on('clientError', (error, socket) => onClientError(edge, error, socket))
  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy())
    const connection = connectionOf(socket)
    // A client would take the refusal for the answer to an earlier request.
    if (connection.open.length > 0 || connection.isClosing) return void socket.destroy()
    const message = 'This server is not a proxy: CONNECT is not available. Use GET or POST.'
    refuseSocket(edge, socket, problem('method_not_allowed', message, { headers: { allow: 'GET, HEAD, POST' } }))
  })
}

/** Looking through all connections for each dropped one would cost too much. */
const IDLE_CLOSE_INTERVAL_MICROS = 1_000_000

/** The connection limit is reached: closes idle connections to make room. */
function makeRoom(edge: EdgeContext, server: Server): () => void {
  let closedAt = Number.NEGATIVE_INFINITY
  return () => {
    edge.limiter.onConnectionDropped()
    const now = edge.clock.nowMicros()
    if (now - closedAt < IDLE_CLOSE_INTERVAL_MICROS) return
    closedAt = now
    server.closeIdleConnections()
  }
}

export type ListenOutcome =
  | { readonly kind: 'listening'; readonly host: string; readonly port: number }
  | { readonly kind: 'address-in-use' }
  | { readonly kind: 'address-not-available' }
  | { readonly kind: 'not-permitted' }

/** The default of 511 is short when a thousand clients reconnect at once. */
const BACKLOG = 4096

const LISTEN_FAILURES: Readonly<Record<string, Exclude<ListenOutcome['kind'], 'listening'>>> = {
  EADDRINUSE: 'address-in-use',
  EADDRNOTAVAIL: 'address-not-available',
  ENOTFOUND: 'address-not-available',
  EACCES: 'not-permitted',
}

/** A bad address is an outcome, because the operator chose it and can choose another. */
export function listenOn(
  server: NetServer,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<ListenOutcome> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      const kind = LISTEN_FAILURES[error.code ?? '']
      if (kind) resolve({ kind })
      else reject(new Error(`could not listen on ${host}:${port}`, { cause: error }))
    }
    server.once('error', onError)
    server.listen({ host, port, backlog: BACKLOG }, () => {
      server.off('error', onError)
      resolve({ kind: 'listening', host, port: (server.address() as AddressInfo).port })
    })
  })
}

/**
 * No byte has moved on this socket for the stall time. Node counts each byte that the kernel takes, so a slow reader is not
 * disconnected. After the process was suspended, the timer fires before the loop has read the socket, so one iteration of the loop
 * decides whether anything moves.
 */
function onSocketTimeout(socket: Socket): void {
  if (!isStalled(socket)) return
  const { bytesRead, writableLength } = socket
  afterSocketsRead(() => {
    const hasMoved = socket.bytesRead !== bytesRead || socket.writableLength !== writableLength
    if (!hasMoved && isStalled(socket)) socket.destroy()
  })
}

function isStalled(socket: Socket): boolean {
  const { open, newest } = connectionOf(socket)
  // The first headers have a timeout of their own, with an answer.
  if (newest === undefined) return false
  const isWaitingForProvider = open.length > 0 && socket.writableLength === 0
  return !isWaitingForProvider
}
