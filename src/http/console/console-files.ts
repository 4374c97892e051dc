import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { writeHead } from '../answer/write-head.ts'
import type { Exchange } from '../exchange.ts'
import { PAGE_HEADERS } from './page-headers.ts'

/** The built console, in memory: about a megabyte, read once. */
export interface ConsoleFiles {
  /** By the path below `/console/`; the page itself for every path that is no file. */
  find(path: string): ConsoleFile | undefined
  readonly page: ConsoleFile | undefined
}

export interface ConsoleFile {
  readonly type: string
  /** Of its plain bytes. Each packing has a strong ETag of its own (RFC 9110, section 8.8.3.3). */
  readonly digest: string
  /** Its name changes with what is in it. */
  readonly isImmutable: boolean
  readonly plain: Buffer
  readonly br: Buffer | undefined
  readonly gzip: Buffer | undefined
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
}

const PAGE = 'index.html'

/** A folder that is not there is a server without a console. */
export async function loadConsoleFiles(folder: string): Promise<ConsoleFiles> {
  const names = await listFiles(folder)
  const files = new Map<string, ConsoleFile>()
  for (const name of names) {
    const type = TYPES[extname(name)]
    if (type !== undefined) files.set(name, await loadFile(folder, name, { type, names }))
  }
  return { find: (path) => files.get(path), page: files.get(PAGE) }
}

async function listFiles(folder: string): Promise<ReadonlySet<string>> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile())
    return new Set(files.map((file) => join(file.parentPath, file.name).slice(folder.length + 1)))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Set()
    throw error
  }
}

async function loadFile(
  folder: string,
  name: string,
  { type, names }: { readonly type: string; readonly names: ReadonlySet<string> },
): Promise<ConsoleFile> {
  const packed = (ending: string) => (names.has(name + ending) ? readFile(join(folder, name + ending)) : undefined)
  const plain = await readFile(join(folder, name))
  return {
    type,
    digest: createHash('sha256').update(plain).digest('base64url').slice(0, 22),
    isImmutable: name.startsWith('assets/'),
    plain,
    br: await packed('.br'),
    gzip: await packed('.gz'),
  }
}

/** A file of the console, in the tightest packing that its browser takes. */
export function sendFile(exchange: Exchange, file: ConsoleFile): void {
  const { request, response } = exchange
  const { bytes, encoding } = pack(file, String(request.headers['accept-encoding'] ?? ''))
  const etag = encoding === undefined ? `"${file.digest}"` : `"${file.digest}-${encoding}"`
  const headers = {
    ...PAGE_HEADERS,
    'cache-control': file.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag,
    vary: 'accept-encoding',
  }
  if (hasAlready(request.headers['if-none-match'], etag)) {
    writeHead(exchange, 304, headers)
    response.end()
    return
  }
  writeHead(exchange, 200, {
    ...headers,
    ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
    'content-type': file.type,
    'content-length': String(bytes.length),
  })
  response.end(request.method === 'HEAD' ? undefined : bytes)
}

/** What a browser has may be marked as weak by a proxy on the way. */
const hasAlready = (known: string | undefined, etag: string): boolean =>
  known?.split(',').some((each) => each.trim().replace(/^W\//, '') === etag) ?? false

interface Packed {
  readonly bytes: Buffer
  readonly encoding: 'br' | 'gzip' | undefined
}

function pack({ plain, br, gzip }: ConsoleFile, accepted: string): Packed {
  if (br !== undefined && takes(accepted, 'br')) return { bytes: br, encoding: 'br' }
  if (gzip !== undefined && takes(accepted, 'gzip')) return { bytes: gzip, encoding: 'gzip' }
  return { bytes: plain, encoding: undefined }
}

/** `br;q=0` means that it is not taken. */
const takes = (accepted: string, coding: string): boolean =>
  accepted.split(',').some((entry) => {
    const [name = '', ...parameters] = entry.toLowerCase().split(';')
    return name.trim() === coding && !parameters.some((parameter) => /^\s*q=0(\.0*)?\s*$/.test(parameter))
  })
