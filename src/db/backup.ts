import { spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { type FileHandle, open, readFile, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pause } from '../lib/async.ts'
import type { SqlStore } from './sql-store.ts'
import { beNice } from './sqlite/check-integrity.ts'
import type { CopiedPath } from './sqlite/copy-files.ts'

/** The tests use the built one in dist/. */
const COPIER = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../dist/db/sqlite/copy-files.js' : './sqlite/copy-files.js',
    import.meta.url,
  ),
)

/** A database file of the data folder that is open in this process. */
interface OpenFile {
  readonly name: string
  readonly path: string
  readonly store: SqlStore
}

interface CopyRequest<AtPoint> {
  readonly files: readonly OpenFile[]
  readonly into: string
  /** Called at the one moment that the copy is of. What it asks for synchronously is of the same moment. */
  readonly atPoint: () => Promise<AtPoint>
}

/** The disk of the backup would be full, or almost. It may be the disk of the ledger. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom'
}

/** As much as SQLite lets its log grow to before it empties it. Copying it blocks the worker for a few milliseconds. */
const LOG_BYTES = 4 * 1024 * 1024
const LOOK_MS = 20
/** What must stay free on the disk of the backup. */
const RESERVE_BYTES = 64 * 1024 * 1024

/**
 * Copies databases that are in use, as they all are at one moment, without a long read that would hold back other work. Another
 * process copies the files, in whatever state they are, while each worker archives the log of its file before it empties it
 * (`archiveLog`). At the end both logs are cut in one turn of the event loop. Every write of this process was then either sent
 * to its worker before the cut, and is in the copy, or was sent later, and is not; so no row is in the copy without what it was
 * written after. `applyLogs` makes databases of what is copied.
 */
export async function copyOpenFiles<AtPoint>({ files, into, atPoint }: CopyRequest<AtPoint>): Promise<AtPoint> {
  await refuseFullDisk(files, into)
  const cut = (some: readonly OpenFile[]) => Promise.all(some.map(({ store }) => archive(store, { kind: 'cut' })))
  let copier: ReturnType<typeof startCopier> | undefined
  try {
    await Promise.all(
      files.map(({ name, store }) => archive(store, { kind: 'begin', into: join(into, logName(name)) })),
    )
    copier = startCopier(files.map(({ name, path }) => ({ from: path, to: join(into, name) })))
    while (!(await Promise.race([copier.ended.then(() => true), pause(LOOK_MS).then(() => false)]))) {
      const full = files.filter(({ path }) => bytesOf(`${path}-wal`) >= LOG_BYTES)
      if (full.length === 0) continue
      await refuseFullDisk([], into)
      await cut(full)
    }
    // One turn of the event loop: nothing else is sent to a worker in between.
    const [, found] = await Promise.all([cut(files), atPoint()])
    return found
  } finally {
    copier?.stop()
    await Promise.all(files.map(({ store }) => archive(store, { kind: 'end' }).catch(() => {})))
  }
}

const bytesOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

async function archive(store: SqlStore, step: Parameters<NonNullable<SqlStore['archiveLog']>>[0]): Promise<void> {
  if (store.archiveLog === undefined) throw new Error('Only files of SQLite have a log to archive')
  await store.archiveLog(step)
}

async function refuseFullDisk(files: readonly OpenFile[], into: string): Promise<void> {
  const needed = files.reduce((sum, { path }) => sum + bytesOf(path) + bytesOf(`${path}-wal`), RESERVE_BYTES)
  const { bavail, bsize } = await statfs(into)
  if (bavail * bsize >= needed) return
  const mebibytes = (bytes: number) => Math.ceil(bytes / 1024 / 1024)
  throw new NoRoom(
    `The disk of the backup has ${mebibytes(bavail * bsize)} MiB left, and ${mebibytes(needed)} MiB are needed.`,
  )
}

function startCopier(paths: readonly CopiedPath[]) {
  const child = spawn(process.execPath, [COPIER, JSON.stringify(paths)], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {},
  })
  if (child.pid !== undefined) beNice(child.pid)
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const ended = new Promise<void>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) resolve()
      else reject(copyFailure(output, signal ?? code))
    })
  })
  ended.catch(() => {})
  return { ended, stop: () => void child.kill('SIGKILL') }
}

function copyFailure(output: string, ended: string | number | null): Error {
  if (output === '') return new Error(`The process that copied the files ended with ${ended}`)
  const { code, message } = JSON.parse(output) as { readonly code?: string; readonly message: string }
  return Object.assign(new Error(`The files could not be copied: ${message}`), { code })
}

/** The archived logs of a file are numbered from 1. */
const logName = (name: string): string => `${name}.log-`

/**
 * Makes a database of a copy and its archived logs, which are deleted: writes the pages of each log into the copy, in order. The
 * copy is of one moment only after the last one. Returns how many there were. SQLite could do the same, but a library that
 * keeps a closed file open must not see one log after the other.
 */
export async function applyLogs(folder: string, name: string): Promise<number> {
  const copy = await open(join(folder, name), 'r+')
  let applied = 0
  try {
    for (; ; applied++) {
      const path = join(folder, `${logName(name)}${applied + 1}`)
      if (!existsSync(path)) break
      await applyLog(copy, readLog(await readFile(path), path))
      await rm(path)
    }
    await copy.sync()
  } finally {
    await copy.close()
  }
  return applied
}

interface LoggedPages {
  readonly pageBytes: number
  readonly pages: readonly { readonly number: number; readonly content: Buffer }[]
  /** The size of the database after them, in pages. */
  readonly size: number
}

async function applyLog(copy: FileHandle, { pageBytes, pages, size }: LoggedPages): Promise<void> {
  // Of a page that was written several times, the last one counts.
  const last = new Map(pages.map(({ number, content }) => [number, content]))
  for (const [number, content] of last) await copy.write(content, 0, pageBytes, (number - 1) * pageBytes)
  await copy.truncate(size * pageBytes)
}

const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
/** The lowest bit says that the words of a checksum are big-endian. */
const LOG_MAGIC = 0x377f0682

/**
 * Reads a write-ahead log (https://www.sqlite.org/fileformat2.html#walformat). It was cut between two commits, so every frame
 * must be whole, and the last one must be the end of a commit.
 */
export function readLog(log: Buffer, path: string): LoggedPages {
  const refuse = (): never => {
    throw new Error(`${path} is not a whole log`)
  }
  if (log.length < LOG_HEADER_BYTES) return refuse()
  const magic = log.readUInt32BE(0)
  if ((magic & ~1) >>> 0 !== LOG_MAGIC) return refuse()
  const addUp = checksumOf((magic & 1) === 1)
  const pageBytes = log.readUInt32BE(8)
  const frameBytes = FRAME_HEADER_BYTES + pageBytes
  let sums = addUp([0, 0], log.subarray(0, 24))
  if (!isAt(log, 24, sums) || (log.length - LOG_HEADER_BYTES) % frameBytes !== 0) return refuse()
  const salts = log.subarray(16, 24)
  const pages: LoggedPages['pages'][number][] = []
  let size = 0
  for (let at = LOG_HEADER_BYTES; at < log.length; at += frameBytes) {
    const content = log.subarray(at + FRAME_HEADER_BYTES, at + frameBytes)
    sums = addUp(addUp(sums, log.subarray(at, at + 8)), content)
    if (!log.subarray(at + 8, at + 16).equals(salts) || !isAt(log, at + 16, sums)) return refuse()
    pages.push({ number: log.readUInt32BE(at), content })
    // Zero, unless it is the last frame of a commit.
    size = log.readUInt32BE(at + 4)
  }
  return size === 0 ? refuse() : { pageBytes, pages, size }
}

type Sums = readonly [number, number]

const isAt = (log: Buffer, at: number, [first, second]: Sums): boolean =>
  log.readUInt32BE(at) === first && log.readUInt32BE(at + 4) === second

const checksumOf =
  (isBigEndian: boolean) =>
  ([first, second]: Sums, bytes: Buffer): Sums => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    for (let at = 0; at < bytes.length; at += 8) {
      first = (first + view.getUint32(at, !isBigEndian) + second) >>> 0
      second = (second + view.getUint32(at + 4, !isBigEndian) + first) >>> 0
    }
    return [first, second]
  }
