import { createHash } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import type { Outcome } from '../admin/outcome.ts'

/** The kernel's own limit is 108 bytes on Linux and 104 on macOS, and Node 20 cuts longer ones off without a word. */
const PATH_BYTES_MAX = 100

interface SocketPlace {
  readonly path: string
  /** Removes the folder that was made for it, if any. */
  remove(): Promise<void>
}

/** `admin.sock` in the data folder; where that path is too long, a hashed name in a folder of mode 0700 of its own. */
export async function placeAdminSocket(data: string): Promise<SocketPlace> {
  const path = join(data, 'admin.sock')
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return { path, remove: async () => {} }
  // mkdtemp makes a folder that nobody else could have prepared, and makes it 0700.
  const folder = await mkdtemp(join(tmpdir(), 'millrace-'))
  const name = createHash('sha256').update(path).digest('hex').slice(0, 16)
  return { path: join(folder, `${name}.sock`), remove: () => rm(folder, { recursive: true, force: true }) }
}

/** What a server that was killed left behind outside its data folder. */
export async function removeStaleSocket(data: string, socket: string): Promise<void> {
  const folder = dirname(socket)
  const ours = dirname(folder) === tmpdir() && /^millrace-[A-Za-z0-9]{6}$/.test(folder.slice(tmpdir().length + 1))
  if (ours && folder !== data) await rm(folder, { recursive: true, force: true })
}

interface AdminSocketDeps {
  readonly version: string
  readonly run: (operation: string, args: unknown) => Promise<Outcome<unknown>>
  readonly onFailure: (operation: string, error: unknown) => void
  readonly bounds?: AdminBounds
}

export interface AdminSocket {
  readonly path: string
  close(): Promise<void>
}

/**
 * Serves the operator's commands on a unix socket. Who may open the file may do everything, so it belongs to its owner
 * alone. Called only while the data folder is locked: whatever lies at the path was left by a server that is gone.
 */
export async function openAdminSocket(deps: AdminSocketDeps, path: string): Promise<AdminSocket> {
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
    async close() {
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
    throw new Error(`The admin socket belongs at ${path}, where something stands that is no socket. Move it away.`, {
      cause: error,
    })
  }
}

async function listenPrivately(server: Server, path: string): Promise<void> {
  // The file is made while `listen` is being called, so the mask closes it before anyone could connect.
  const mask = process.umask(0o177)
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(path, resolve)
      process.umask(mask)
    })
  } finally {
    process.umask(mask)
  }
  await chmod(path, 0o600)
}

function serveConnection(deps: AdminSocketDeps, bounds: AdminBounds, socket: Socket): void {
  const reader = createLineReader(bounds.requestBytesMax)
  const say = (line: string) => {
    if (socket.writable) socket.write(line)
  }
  let last: Promise<void> = Promise.resolve()
  socket.setTimeout(bounds.idleTimeoutMs, () => socket.destroy())
  // A client that resets its connection is its own affair.
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    const read = reader.read(chunk)
    if (read.kind === 'too-long') {
      socket.pause()
      socket.end(lineOf(malformed(deps, 'The request is too long.')), () => socket.destroy())
      return
    }
    if (read.lines.length === 0) return
    // One after the other, and nothing more is read meanwhile: a client can neither flood nor overtake itself.
    socket.pause()
    socket.setTimeout(0)
    for (const line of read.lines) last = last.then(async () => say(await answerLine(deps, line)))
    last = last.then(() => {
      socket.setTimeout(bounds.idleTimeoutMs)
      socket.resume()
    })
  })
}

const lineOf = (answer: AdminAnswer): string => `${JSON.stringify(answer)}\n`

const malformed = (deps: AdminSocketDeps, message: string): AdminAnswer => ({
  version: deps.version,
  kind: 'malformed',
  message,
})

async function answerLine(deps: AdminSocketDeps, line: string): Promise<string> {
  const { version } = deps
  const request = readRequest(line)
  if (request === undefined) return lineOf(malformed(deps, 'The request is not a line of {version, operation, args}.'))
  // `status` is answered to every version: it is how a person finds out which one runs.
  if (request.version !== version && request.operation !== 'status') return lineOf({ version, kind: 'other-version' })
  try {
    return lineOf({ version, kind: 'answered', outcome: await deps.run(request.operation, request.args) })
  } catch (error) {
    deps.onFailure(request.operation, error)
    return lineOf({ version, kind: 'failed', message: 'The server could not do it; its log says why.' })
  }
}

function readRequest(line: string): AdminRequest | undefined {
  try {
    return adminRequest.parse(JSON.parse(line))
  } catch {
    return undefined
  }
}

/**
 * One JSON object a line, in both directions: what a command of the operator asks of the running server. Both ends say
 * their version, because a command of one version must not guess what a server of another means.
 */
const adminRequest = z.strictObject({
  version: z.string(),
  operation: z.string(),
  args: z.unknown(),
})

export type AdminRequest = z.infer<typeof adminRequest>

export type AdminAnswer =
  | { readonly version: string; readonly kind: 'answered'; readonly outcome: Outcome<unknown> }
  | { readonly version: string; readonly kind: 'other-version' }
  | { readonly version: string; readonly kind: 'malformed'; readonly message: string }
  | { readonly version: string; readonly kind: 'failed'; readonly message: string }

export const ADMIN_BOUNDS = {
  /** The largest honest request is a key's list of models. */
  requestBytesMax: 1024 * 1024,
  /** A page of keys, each with the longest list of models. */
  answerBytesMax: 256 * 1024 * 1024,
  /** One operator and a few scripts at once. */
  connectionsMax: 32,
  /** A connection that says nothing for so long is closed. */
  idleTimeoutMs: 30_000,
  /** Verifying large books takes its time. */
  answerTimeoutMs: 10 * 60_000,
} as const

type AdminBounds = { readonly [Name in keyof typeof ADMIN_BOUNDS]: number }

type LineRead = { readonly kind: 'lines'; readonly lines: readonly string[] } | { readonly kind: 'too-long' }

interface LineReader {
  read(chunk: Buffer): LineRead
}

/** Cuts bytes into lines. A line that outgrows the bound is reported before it is kept, so memory stays bounded. */
export function createLineReader(lineBytesMax: number): LineReader {
  let parts: Buffer[] = []
  let size = 0
  return {
    read(chunk) {
      const lines: string[] = []
      let start = 0
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        const last = chunk.subarray(start, end)
        if (size + last.length > lineBytesMax) return { kind: 'too-long' }
        lines.push(Buffer.concat([...parts, last]).toString('utf8'))
        parts = []
        size = 0
        start = end + 1
      }
      const rest = chunk.subarray(start)
      if (size + rest.length > lineBytesMax) return { kind: 'too-long' }
      if (rest.length > 0) parts.push(rest)
      size += rest.length
      return { kind: 'lines', lines }
    },
  }
}
