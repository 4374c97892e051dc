import { createHash } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import type { Outcome } from '../admin/outcome.ts'

/** The kernel's limit is 108 bytes on Linux and 104 on macOS. Node 20 silently cuts longer paths. */
const PATH_BYTES_MAX = 100

interface SocketPlace {
  readonly path: string
  /** Removes the folder that was made for it, if any. */
  remove(): Promise<void>
}

/** `admin.sock` in the data folder; if that path is too long, a hashed name in a temporary folder of mode 0700. */
export async function placeAdminSocket(data: string): Promise<SocketPlace> {
  const path = join(data, 'admin.sock')
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return { path, remove: async () => {} }
  // mkdtemp creates a new folder with mode 0700.
  const folder = await mkdtemp(join(tmpdir(), 'millrace-'))
  const name = createHash('sha256').update(path).digest('hex').slice(0, 16)
  return { path: join(folder, `${name}.sock`), remove: () => rm(folder, { recursive: true, force: true }) }
}

/** Removes what a killed server left outside its data folder. */
export async function removeStaleSocket(data: string, socket: string): Promise<void> {
  const folder = dirname(socket)
  const ours = dirname(folder) === tmpdir() && /^millrace-[A-Za-z0-9]{6}$/.test(folder.slice(tmpdir().length + 1))
  if (ours && folder !== data) await rm(folder, { recursive: true, force: true })
}

interface AdminSocketOptions {
  readonly version: string
  readonly run: (operation: string, args: unknown) => Promise<Outcome<unknown>>
  readonly onFailure: (operation: string, error: unknown) => void
  readonly bounds?: AdminBounds
}

export type AdminSocket = Awaited<ReturnType<typeof openAdminSocket>>

/**
 * Serves the operator's commands on a unix socket. A user who can open the file can do everything, so only its owner can. Called
 * while the data folder is locked, so a file at the path is left from a dead server.
 */
export async function openAdminSocket(deps: AdminSocketOptions, path: string) {
  const bounds = deps.bounds ?? ADMIN_BOUNDS
  await clearPath(path)
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    serveConnection(deps, bounds, socket)
  })
  server.maxConnections = bounds.connectionsMax
  await listenPrivately(server, path)
  return {
    path,
    async close(): Promise<void> {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      await closed
      await rm(path, { force: true })
    },
  }
}

async function clearPath(path: string): Promise<void> {
  try {
    await rm(path, { force: true })
  } catch (error) {
    throw new Error(`The admin socket cannot be created at ${path}: there is something else. Move it away.`, {
      cause: error,
    })
  }
}

async function listenPrivately(server: Server, path: string): Promise<void> {
  // `listen` creates the file at once, so the mask applies before another user could connect.
  const mask = process.umask(0o177)
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      // Also in a worker: its server must not be reachable through the process that accepts connections.
      server.listen({ path, exclusive: true }, resolve)
      process.umask(mask)
    })
  } finally {
    process.umask(mask)
  }
  await chmod(path, 0o600)
}

function serveConnection(deps: AdminSocketOptions, bounds: AdminBounds, socket: Socket): void {
  const readLines = createLineReader(bounds.requestBytesMax)
  let last: Promise<void> = Promise.resolve()
  socket.setTimeout(bounds.idleTimeoutMs, () => socket.destroy())
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    const lines = readLines(chunk)
    if (lines === undefined) {
      socket.pause()
      socket.end(lineOf(malformed(deps, 'The request is too long.')), () => socket.destroy())
      return
    }
    if (lines.length === 0) return
    // Requests run one after the other, and nothing is read meanwhile, so a client cannot flood the server.
    socket.pause()
    socket.setTimeout(0)
    for (const line of lines) {
      last = last.then(async () => {
        const answer = await answerLine(deps, line)
        if (socket.writable) socket.write(answer)
      })
    }
    last = last.then(() => {
      socket.setTimeout(bounds.idleTimeoutMs)
      socket.resume()
    })
  })
}

const lineOf = (answer: AdminAnswer): string => `${JSON.stringify(answer)}\n`

const malformed = (deps: AdminSocketOptions, message: string): AdminAnswer => ({
  version: deps.version,
  kind: 'malformed',
  message,
})

async function answerLine(deps: AdminSocketOptions, line: string): Promise<string> {
  const { version } = deps
  const request = readRequest(line)
  if (request === undefined) return lineOf(malformed(deps, 'The request is not a line of {version, operation, args}.'))
  // `status` is answered to every version, so that a person can find out which one runs.
  if (request.version !== version && request.operation !== 'status') return lineOf({ version, kind: 'other-version' })
  try {
    return lineOf({ version, kind: 'answered', outcome: await deps.run(request.operation, request.args) })
  } catch (error) {
    deps.onFailure(request.operation, error)
    return lineOf({ version, kind: 'failed', message: 'The operation failed. The log of the server has the reason.' })
  }
}

function readRequest(line: string): AdminRequest | undefined {
  try {
    return adminRequest.parse(JSON.parse(line))
  } catch {
    return undefined
  }
}

/** One JSON object a line, in both directions. Both ends send their version, because versions may differ in operations. */
const adminRequest = z.strictObject({
  version: z.string(),
  operation: z.string(),
  args: z.unknown(),
})

export type AdminRequest = z.infer<typeof adminRequest>

export type AdminAnswer =
  | { readonly version: string; readonly kind: 'answered'; readonly outcome: Outcome<unknown> }
  | { readonly version: string; readonly kind: 'other-version' }
  | { readonly version: string; readonly kind: 'malformed' | 'failed'; readonly message: string }

export const ADMIN_BOUNDS = {
  /** The largest valid request is a key's list of models. */
  requestBytesMax: 1024 * 1024,
  /** A page of keys, each with the longest list of models. */
  answerBytesMax: 256 * 1024 * 1024,
  /** One operator and a few scripts at once. */
  connectionsMax: 32,
  /** A connection without a request for this long is closed. */
  idleTimeoutMs: 30_000,
  /** Verifying a large ledger takes minutes. */
  answerTimeoutMs: 10 * 60_000,
} as const

type AdminBounds = { readonly [Name in keyof typeof ADMIN_BOUNDS]: number }

/** Splits bytes into lines; undefined if one is longer than the bound, which is noticed before it is stored. */
export function createLineReader(lineBytesMax: number): (chunk: Buffer) => readonly string[] | undefined {
  let parts: Buffer[] = []
  let size = 0
  return (chunk) => {
    const lines: string[] = []
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const last = chunk.subarray(start, end)
      if (size + last.length > lineBytesMax) return undefined
      lines.push(Buffer.concat([...parts, last]).toString('utf8'))
      parts = []
      size = 0
      start = end + 1
    }
    const rest = chunk.subarray(start)
    if (size + rest.length > lineBytesMax) return undefined
    if (rest.length > 0) parts.push(rest)
    size += rest.length
    return lines
  }
}
