import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'

/** The built console, in memory: about a megabyte, read once. */
export interface ConsoleFiles {
  /** By the path below `/console/`. */
  find(path: string): ConsoleFile | undefined
  /** The answer for every path that is not a file; undefined without a build. */
  readonly page: ConsoleFile | undefined
}

export interface ConsoleFile {
  readonly type: string
  /** Of the plain bytes. Each encoding has a strong ETag of its own (RFC 9110, section 8.8.3.3). */
  readonly digest: string
  /** Its name changes with its content. */
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

/** A missing folder means a server without a console. */
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
