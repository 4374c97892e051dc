import { spawn } from 'node:child_process'
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { type FileHandle, open, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pause } from '../lib/async.ts'
import type { SqlStore } from './sql-store.ts'
import { beNice } from './sqlite/check-integrity.ts'
import type { CopiedPath, CopierReply } from './sqlite/copy-files.ts'

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
  readonly signal?: AbortSignal
  readonly stalledAfterMs?: number
}

/** The copy is given up, such as for a disk that is full or too slow. The message is for the operator. */
export class CopyGivenUp extends Error {
  override readonly name = 'CopyGivenUp'
}

/** As much as SQLite lets its log grow to before it empties it. Copying it blocks the worker for a few milliseconds. */
const LOG_BYTES = 4 * 1024 * 1024
const LOOK_MS = 20
/** What may wait in the data folder for the disk of the backup. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024
/** A disk in the network may be gone for a minute and come back. */
const STALLED_AFTER_MS = 120_000

/**
 * Copies databases that are in use, as they all are at one moment, without a long read that would hold back other work. Another
 * process copies the files, in whatever state they are, while each worker archives the log of its file in the data folder before it
 * empties it (`archiveLog`), from where the process moves it into the backup. At the end both logs are cut in one turn of the event
 * loop. Every write of this process was then either sent to its worker before the cut, and is in the copy, or was sent later, and
 * is not; so no row is in the copy without what it was written after. `applyLogs` makes databases of what is copied.
 *
 * Neither this process nor a worker touches the disk of the backup here: it may hang.
 */
export async function copyOpenFiles<AtPoint>({
  files,
  into,
  atPoint,
  signal,
  stalledAfterMs = STALLED_AFTER_MS,
}: CopyRequest<AtPoint>): Promise<AtPoint> {
  for (const { path } of files) deleteParts(path)
  const copier = startCopier(stalledAfterMs, signal)
  try {
    const found = await whileArchived(files, async () => {
      copier.send(files.map(({ name, path }) => ({ from: path, to: join(into, name), isMoved: false })))
      const { cut, waitingBytes } = createMover(copier, into)
      while (!(await copier.hasCopied())) {
        const full = files.filter(({ path }) => bytesOf(`${path}-wal`) >= LOG_BYTES)
        if (full.length === 0) continue
        if (waitingBytes() > WAITING_BYTES_MAX)
          throw new CopyGivenUp(
            'The disk of the backup is slower than what the server writes meanwhile. Use another one.',
          )
        await cut(full)
      }
      // One turn of the event loop: nothing else is sent to a worker in between.
      const [, found] = await Promise.all([cut(files), atPoint()])
      return found
    })
    while (!(await copier.hasCopied())) {}
    return found
  } finally {
    copier.stop()
    for (const { path } of files) deleteParts(path)
  }
}

async function whileArchived<Result>(files: readonly OpenFile[], work: () => Promise<Result>): Promise<Result> {
  try {
    await Promise.all(files.map(({ path, store }) => archive(store, { kind: 'begin', into: partsOf(path) })))
    return await work()
  } finally {
    await Promise.all(files.map(({ store }) => archive(store, { kind: 'end' }).catch(() => {})))
  }
}

/** Where the archived logs of a file wait: in the data folder. */
const partsOf = (path: string): string => `${path}.archived-`

/** A killed server may have left some. */
function deleteParts(path: string): void {
  const parts = basename(partsOf(path))
  for (const name of readdirSync(dirname(path)))
    if (name.startsWith(parts)) rmSync(join(dirname(path), name), { force: true })
}

/** Cuts logs and has what is archived moved into the backup. */
function createMover(copier: Copier, into: string) {
  const sent = new Map<string, number>()
  let waiting: string[] = []
  const cutOne = async ({ name, path, store }: OpenFile) => {
    const parts = await archive(store, { kind: 'cut' })
    for (let part = (sent.get(name) ?? 0) + 1; part <= parts; part++) {
      const from = `${partsOf(path)}${part}`
      copier.send([{ from, to: join(into, `${logName(name)}${part}`), isMoved: true }])
      waiting.push(from)
    }
    sent.set(name, parts)
  }
  return {
    cut: (files: readonly OpenFile[]) => Promise.all(files.map(cutOne)),
    waitingBytes() {
      waiting = waiting.filter((path) => bytesOf(path) > 0)
      return waiting.reduce((sum, path) => sum + bytesOf(path), 0)
    },
  }
}

const bytesOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

function archive(store: SqlStore, step: Parameters<NonNullable<SqlStore['archiveLog']>>[0]): Promise<number> {
  if (store.archiveLog === undefined) throw new Error('Only files of SQLite have a log to archive')
  return store.archiveLog(step)
}

type Copier = ReturnType<typeof startCopier>

function startCopier(stalledAfterMs: number, signal: AbortSignal | undefined) {
  const child = spawn(process.execPath, [COPIER], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'], env: {} })
  if (child.pid !== undefined) beNice(child.pid)
  let open = 0
  let looksWithoutReply = 0
  let failure: Error | undefined
  child.on('message', (reply: CopierReply) => {
    looksWithoutReply = 0
    if (reply.kind === 'copied') open -= 1
    else if (reply.kind !== 'piece') failure ??= copyFailure(reply)
  })
  child.on('error', (error) => {
    failure ??= error
  })
  child.on('exit', (code, signal) => {
    failure ??= new Error(`The process that copied the files ended with ${signal ?? code}`)
  })
  return {
    send(paths: readonly CopiedPath[]): void {
      open += 1
      // A process that has ended is seen by its exit.
      child.send(paths, () => {})
    },
    /** Whether all that was sent is copied. Waits a little, and throws when nothing more will come. */
    async hasCopied(): Promise<boolean> {
      await pause(LOOK_MS)
      signal?.throwIfAborted()
      if (failure !== undefined) throw failure
      looksWithoutReply += 1
      if (open > 0 && looksWithoutReply * LOOK_MS >= stalledAfterMs)
        throw new CopyGivenUp(
          `The disk of the backup has taken nothing for ${Math.round(stalledAfterMs / 1000)} seconds.`,
        )
      return open === 0
    },
    /** Does not wait for its end: a disk that hangs holds it. */
    stop(): void {
      child.kill('SIGKILL')
      if (child.connected) child.disconnect()
      child.unref()
    },
  }
}

function copyFailure(reply: Extract<CopierReply, { kind: 'no-room' | 'failed' }>): Error {
  if (reply.kind === 'failed') {
    return Object.assign(new Error(`The files could not be copied: ${reply.message}`), { code: reply.code })
  }
  const mebibytes = (bytes: number) => Math.ceil(bytes / 1024 / 1024)
  return new CopyGivenUp(
    `The disk of the backup has ${mebibytes(reply.freeBytes)} MiB left, and ${mebibytes(reply.neededBytes)} MiB are needed.`,
  )
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
