import { createServer, type Server } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { afterLoopTurn } from '../lib/async.ts'
import { createBag } from '../lib/bag.ts'
import { problem } from '../model/problem.ts'
import { createClients } from './client-address.ts'
import { onClientError, refuseSocket } from './client-error.ts'
import { connectionOf, ignoreRequest } from './connection.ts'
import { handle } from './handle.ts'
import {
  beatFor,
  createHeartbeat,
  type DrainState,
  type EdgeContext,
  type EdgeDeps,
  type Expectation,
} from './request-context.ts'

export interface Edge {
  listen(address: { host: string; port: number }): Promise<ListenOutcome>
  /** Not ready any more; answers close their connection; new requests are still served. */
  announceDrain(): void
  /** Accepts no more connections and refuses new requests. Resolves when the last connection has ended. */
  stopAccepting(): Promise<void>
  /** Breaks every connection that is left. */
  cut(): void
}

/** Node's own default lets a timeout of ten seconds take forty. */
const TIMEOUT_CHECK_MS = 1000

export function createEdge(deps: EdgeDeps): Edge {
  const { options } = deps
  const drain: DrainState = { stage: 'open' }
  // An answer that ends while the node drains frees its connection, which nobody shall use again.
  const onAnswered = () => {
    if (drain.stage === 'refusing') server.closeIdleConnections()
  }
  const edge: EdgeContext = {
    ...deps,
    ...createClients(options.trustedProxies),
    heartbeat: createHeartbeat(beatFor(options.stream)),
    drain,
    onAnswered,
  }
  const server = createServer({
    // Headers are a part of the request; Node takes no longer time for them than for the whole.
    headersTimeout: Math.min(options.headersTimeoutMs, options.requestTimeoutMs),
    requestTimeout: options.requestTimeoutMs,
    // None at all would mean for ever to Node.
    keepAliveTimeout: Math.max(1, options.keepAliveTimeoutMs),
    maxHeaderSize: options.headerBytesMax,
    connectionsCheckingInterval: Math.min(TIMEOUT_CHECK_MS, options.headersTimeoutMs),
    joinDuplicateHeaders: false,
    // Node would answer bare; the guard answers with our envelope.
    requireHostHeader: false,
  })
  // The size of all headers is bounded; a bound on their number would drop the rest in silence.
  server.maxHeadersCount = 0
  server.maxConnections = options.connectionsMax
  server.setTimeout(options.stallMs, onSocketTimeout)
  const sockets = createBag<Socket>()
  server.on('connection', (socket) => connectionOf(socket).closeListeners.add(sockets.add(socket)))
  answerOn(edge, server)

  return {
    async listen(address) {
      const outcome = await listenOn(server, address)
      // Such as no file descriptor left for one connection; the others go on.
      if (outcome.kind === 'listening')
        server.on('error', (error) => edge.logConnection({ outcome: 'accept_failed', error }))
      return outcome
    },
    announceDrain() {
      if (drain.stage === 'open') drain.stage = 'announced'
    },
    stopAccepting() {
      drain.stage = 'refusing'
      setTimeout(() => sockets.each(closeSilent), FIRST_BYTE_MS).unref()
      return closePatiently(server)
    },
    cut: () => server.closeAllConnections(),
  }
}

/** For the first bytes of whoever has connected in the last moment, and has a request on the way. */
const FIRST_BYTE_MS = 100

/** Browsers open connections ahead of need: on one that has said nothing, nobody is owed anything. */
function closeSilent(socket: Socket): void {
  if (socket.bytesRead === 0) socket.destroy()
}

/**
 * Resolves when the last connection has ended. What Node does by itself stops the clock of slow requests first, and whoever
 * stands still in the middle of one would be waited for: here that comes last.
 */
function closePatiently(server: Server): Promise<void> {
  return new Promise((resolve) => {
    NetServer.prototype.close.call(server, () => {
      server.close()
      resolve()
    })
    server.closeIdleConnections()
  })
}

/**
 * There is no listener for `upgrade` on purpose: with one, Node takes every upgrade off HTTP, and clients that merely
 * offer h2c would get no answer. Without one, they are requests like others, each the last one of its connection, and the
 * guard refuses those for WebSocket.
 */
function answerOn(edge: EdgeContext, server: Server): void {
  const on = (event: 'request' | 'checkContinue' | 'checkExpectation', expectation: Expectation) => {
    server.on(event, (request, response) => {
      if (!connectionOf(request.socket).isClosing) void handle(edge, request, response, expectation)
      else ignoreRequest(request, request.socket)
    })
  }
  on('request', 'none')
  on('checkContinue', 'continue')
  on('checkExpectation', 'unknown')
  server.on('drop', makeRoom(edge, server))
  server.on('clientError', (error, socket) => onClientError(edge, error, socket))
  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy())
    const connection = connectionOf(socket)
    // A client would take the refusal for the answer to the request before it.
    if (connection.openExchanges > 0 || connection.isClosing) return void socket.destroy()
    const message = 'This server is not a proxy: CONNECT is not available. Use GET or POST.'
    refuseSocket(edge, socket, problem('method_not_allowed', message, { headers: { allow: 'GET, HEAD, POST' } }))
  })
}

/** Connections that nobody uses make room for those that somebody needs; looking through all of them for each would cost too much. */
function makeRoom(edge: EdgeContext, server: Server): () => void {
  let lookedAt = Number.NEGATIVE_INFINITY
  return () => {
    edge.connectionDropped()
    const now = edge.clock.nowMicros()
    if (now - lookedAt < IDLE_LOOK_TICKS) return
    lookedAt = now
    server.closeIdleConnections()
  }
}

const IDLE_LOOK_TICKS = 1_000_000

export type ListenOutcome =
  | { readonly kind: 'listening'; readonly host: string; readonly port: number }
  | { readonly kind: 'address-in-use' }
  | { readonly kind: 'address-not-available' }
  | { readonly kind: 'not-permitted' }

/** The default of 511 is short when a thousand clients come back at once. */
const BACKLOG = 4096

const LISTEN_FAILURES: Readonly<Record<string, Exclude<ListenOutcome['kind'], 'listening'>>> = {
  EADDRINUSE: 'address-in-use',
  EADDRNOTAVAIL: 'address-not-available',
  ENOTFOUND: 'address-not-available',
  EACCES: 'not-permitted',
}

/** What can be wrong with an address is an outcome; the operator chose it and can choose another. */
export function listenOn(
  server: Server,
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
 * Nothing has moved on this socket for as long as a client may take nothing of its answer, or as an idle connection is kept.
 * Node counts each byte that the kernel takes, so whoever reads slowly is not taken for one that does not read. After the
 * process was stopped the timer fires before the loop has looked at the socket: whether anything moves then is what counts.
 */
function onSocketTimeout(socket: Socket): void {
  if (!isStalled(socket)) return
  const { bytesRead, writableLength } = socket
  afterLoopTurn(() => {
    const hasMoved = socket.bytesRead !== bytesRead || socket.writableLength !== writableLength
    if (!hasMoved && isStalled(socket)) socket.destroy()
  })
}

function isStalled(socket: Socket): boolean {
  const { openExchanges, newestBody } = connectionOf(socket)
  // How long the first headers may take is counted for itself, and said.
  if (newestBody === undefined) return false
  const isThoughtAbout = openExchanges > 0 && socket.writableLength === 0
  return !isThoughtAbout
}
