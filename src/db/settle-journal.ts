import { type FileHandle, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { type Quarantined, quarantine, syncFolder } from '../lib/files.ts'
import { changeRows, type SqlStore } from './sql-store.ts'
import type { LedgerDb } from './tables.ts'

export type SettleJournal = Awaited<ReturnType<typeof openSettleJournal>>

export interface JournalFindings {
  readonly isNew: boolean
  readonly quarantine: Quarantined | undefined
  /** Unreadable stretches before readable records. */
  readonly damaged: number
  /** The last record is incomplete: it was never reported as durable. */
  readonly cutOff: boolean
}

export interface JournalOptions {
  readonly path: string
  /** The id of the ledger; a journal of another one is quarantined. */
  readonly ledger: string
  readonly now: () => number
  /** Whether the ledger knows the request of this record. A journal with an unknown one is ahead of the ledger. */
  readonly knows?: (record: string) => Promise<boolean>
  readonly bytes?: number
}

/** Some ten thousand ends, far more than turns run at the same time. */
const JOURNAL_BYTES = 8 * 1024 * 1024
/** `MRJ2`, the generation, the ledger, and the checksum of these. */
const HEADER_BYTES = 48
const MAGIC = Buffer.from('MRJ2')
const LEDGER_CHARACTERS = 32
/** Length and checksum before each record; a length of zero ends the list. */
const HEAD_BYTES = 8

/**
 * Takes the ends of turns while the ledger cannot be written: a file of fixed size whose disk space was allocated at the
 * first start, so that a full disk does not stop it. After a crash it returns what was durable, without a record that the
 * crash cut off.
 */
export async function openSettleJournal(options: JournalOptions) {
  const { ledger, bytes = JOURNAL_BYTES } = options
  const opened = await openWhole({ ...options, bytes })
  const { file } = opened
  let { generation, records, end } = opened
  let last: Promise<unknown> = Promise.resolve()

  const inOrder = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const mine = last.then(work, work)
    last = mine.catch(() => {})
    return mine
  }
  const write = async (record: string): Promise<boolean> => {
    const framed = frame(record, generation, end)
    const next = end + framed.length - HEAD_BYTES
    if (next + HEAD_BYTES > bytes) return false
    await file.write(framed, 0, framed.length, end)
    await file.datasync()
    records.push(record)
    end = next
    return true
  }

  return {
    /** What was unusual about the file when it was opened. */
    found: opened.found,
    /** True when the record is on the disk; false when the journal is full or broken. Never rejects. */
    append: (record: string) => inOrder(() => write(record)).catch(() => false),
    /** The records since the last clear, oldest first. */
    read: () => inOrder(async () => [...records]),
    /** Forgets all records, unless `stillNeeded` returns true. */
    clear: (stillNeeded: () => boolean) =>
      inOrder(async () => {
        if (records.length === 0 || stillNeeded()) return
        const empty = Buffer.concat([header(ledger, generation + 1), Buffer.alloc(HEAD_BYTES)])
        await file.write(empty, 0, empty.length, 0)
        await file.datasync()
        generation += 1
        records = []
        end = HEADER_BYTES
      }),
    close: () => inOrder(() => file.close()),
  }
}

/**
 * Moves the records of a journal that is not written any more into another one. Returns how many there were; undefined when
 * there is no room for all of them, and the next start goes on.
 */
export async function takeRecords(into: SettleJournal, from: SettleJournal): Promise<number | undefined> {
  const records = await from.read()
  for (const record of records) if (!(await into.append(record))) return undefined
  // A crash before this leaves them in both; what has ended already is not ended again.
  await from.clear(() => false)
  return records.length
}

/** How many records a journal has. The file is only read; without one there are none. */
export async function countJournaled(path: string): Promise<number | 'damaged'> {
  const whole = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (whole === undefined) return 0
  const found = readJournal(whole)
  return found === 'damaged' || found.damaged > 0 ? 'damaged' : found.records.length
}

type WholeOptions = Required<Pick<JournalOptions, 'bytes'>> & JournalOptions

interface OpenedFile {
  readonly file: FileHandle
  readonly found: JournalFindings
  readonly generation: number
  readonly records: string[]
  readonly end: number
}

async function openWhole(options: WholeOptions): Promise<OpenedFile> {
  const { path, ledger, bytes, knows = async () => true } = options
  const file = await openThere(path)
  const fresh = { isNew: false, quarantine: undefined, damaged: 0, cutOff: false }
  if (file === undefined) return makeFile(options, [], { ...fresh, isNew: true })
  const replace = async (reason: Quarantined['reason']): Promise<OpenedFile> => {
    await file.close()
    return makeFile(options, [], { ...fresh, quarantine: quarantine(path, reason, options.now()) })
  }
  try {
    const read = readJournal(await readWhole(file, bytes))
    if (read === 'damaged') return await replace('damaged')
    if (read.ledger !== undefined && read.ledger !== ledger) return await replace('other-ledger')
    const known = await Promise.all(read.records.map(knows))
    if (known.includes(false)) return await replace('ahead')
    const { generation, records, end, damaged, cutOff } = read
    const found = { ...fresh, damaged, cutOff }
    // An earlier version did not write the ledger's id. Its journal was the only one in this folder, so it is this ledger's.
    if (read.ledger === undefined) {
      await file.close()
      return await makeFile(options, records, found)
    }
    await takePlace(file, bytes)
    return { file, found, generation, records, end }
  } catch (error) {
    await file.close().catch(() => {})
    throw error
  }
}

const openThere = (path: string): Promise<FileHandle | undefined> =>
  open(path, 'r+').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new Error(`${path} cannot be opened for writing (${error.code}). ${WHAT_TO_DO}`, { cause: error })
  })

const WHAT_TO_DO =
  'Give the user that runs Millrace write access to this file and its folder, and check that the disk has space.'

/** Writes a temporary file and renames it, so that a crash in between leaves the old file. */
async function makeFile(
  { path, ledger, bytes }: WholeOptions,
  records: string[],
  found: JournalFindings,
): Promise<OpenedFile> {
  const temporary = `${path}.new`
  const generation = 1
  let end = HEADER_BYTES
  try {
    await rm(temporary, { force: true })
    const file = await open(temporary, 'wx+', 0o600)
    try {
      const parts = [header(ledger, generation)]
      for (const record of records) {
        const framed = frame(record, generation, end).subarray(0, -HEAD_BYTES)
        parts.push(framed)
        end += framed.length
      }
      const written = Buffer.concat(parts)
      await file.write(written, 0, written.length, 0)
      await takePlace(file, bytes)
      await file.sync()
      await rename(temporary, path)
      await syncFolder(dirname(path))
      return { file, found, generation, records, end }
    } catch (error) {
      await file.close()
      await rm(temporary, { force: true })
      throw error
    }
  } catch (cause) {
    throw new Error(`${path} cannot be made (${(cause as NodeJS.ErrnoException).code}). ${WHAT_TO_DO}`, { cause })
  }
}

/** Writes zeros, because only extending a file does not allocate its disk space. */
async function takePlace(file: FileHandle, bytes: number): Promise<void> {
  const { size } = await file.stat()
  if (size >= bytes) return
  await file.write(Buffer.alloc(bytes - size), 0, bytes - size, size)
  await file.sync()
}

async function readWhole(file: FileHandle, bytes: number): Promise<Buffer> {
  const whole = Buffer.alloc(bytes)
  const { bytesRead } = await file.read(whole, 0, bytes, 0)
  return whole.subarray(0, bytesRead)
}

function header(ledger: string, generation: number): Buffer {
  const made = Buffer.alloc(HEADER_BYTES)
  MAGIC.copy(made)
  made.writeUInt32LE(generation, 4)
  made.write(ledger.padEnd(LEDGER_CHARACTERS).slice(0, LEDGER_CHARACTERS), 8, 'latin1')
  made.writeUInt32LE(crc32(made.subarray(0, 8 + LEDGER_CHARACTERS)), 8 + LEDGER_CHARACTERS)
  return made
}

/** Covers place and generation, so that leftovers of an earlier list are never taken for records. */
function checksum(text: Buffer, generation: number, at: number): number {
  const place = Buffer.alloc(8)
  place.writeUInt32LE(generation, 0)
  place.writeUInt32LE(at, 4)
  return crc32(text, crc32(place))
}

/** The record, followed by the end of the list. */
function frame(record: string, generation: number, at: number): Buffer {
  const text = Buffer.from(record)
  const framed = Buffer.alloc(HEAD_BYTES + text.length + HEAD_BYTES)
  framed.writeUInt32LE(text.length, 0)
  framed.writeUInt32LE(checksum(text, generation, at), 4)
  text.copy(framed, HEAD_BYTES)
  return framed
}

interface ReadJournal {
  /** Undefined in a file of an earlier version. */
  readonly ledger: string | undefined
  readonly generation: number
  readonly records: string[]
  readonly end: number
  readonly damaged: number
  readonly cutOff: boolean
}

const ZEROS = Buffer.alloc(64 * 1024)

/** The file is longer than its records, and what follows them is zero: megabytes, at each start. */
function lengthWithoutZeros(whole: Buffer): number {
  let end = whole.length
  while (end >= ZEROS.length && whole.compare(ZEROS, 0, ZEROS.length, end - ZEROS.length, end) === 0)
    end -= ZEROS.length
  return end
}

function readJournal(whole: Buffer): ReadJournal | 'damaged' {
  if (!whole.subarray(0, MAGIC.length).equals(MAGIC)) return readEarlier(whole)
  const named = whole.subarray(0, 8 + LEDGER_CHARACTERS)
  if (whole.length < HEADER_BYTES || crc32(named) !== whole.readUInt32LE(named.length)) return 'damaged'
  const generation = whole.readUInt32LE(4)
  const records: string[] = []
  let [end, damaged] = [HEADER_BYTES, 0]
  const used = whole.subarray(0, lengthWithoutZeros(whole))
  for (let found = findRecord(used, generation, end); found; found = findRecord(used, generation, end)) {
    if (found.at > end) damaged += 1
    records.push(found.text)
    end = found.end
  }
  const cutOff = end + HEAD_BYTES <= whole.length && whole.readUInt32LE(end) !== 0
  return { ledger: named.toString('latin1', 8).trimEnd(), generation, records, end, damaged, cutOff }
}

function findRecord(whole: Buffer, generation: number, from: number) {
  for (let at = from; at + HEAD_BYTES <= whole.length; at++) {
    const length = whole.readUInt32LE(at)
    const end = at + HEAD_BYTES + length
    if (length === 0 || end > whole.length) continue
    const text = whole.subarray(at + HEAD_BYTES, end)
    if (checksum(text, generation, at) === whole.readUInt32LE(at + 4)) return { at, text: text.toString(), end }
  }
  return undefined
}

/** The format of earlier versions: no header, and a checksum of the text alone. */
function readEarlier(whole: Buffer): ReadJournal | 'damaged' {
  const records: string[] = []
  let at = 0
  let cutOff = false
  for (; at + HEAD_BYTES <= whole.length; ) {
    const length = whole.readUInt32LE(at)
    const text = whole.subarray(at + HEAD_BYTES, at + HEAD_BYTES + length)
    if (length === 0) break
    cutOff = text.length < length || crc32(text) !== whole.readUInt32LE(at + 4)
    if (cutOff) break
    records.push(text.toString())
    at += HEAD_BYTES + length
  }
  if (cutOff && records.length === 0) return 'damaged'
  return { ledger: undefined, generation: 1, records, end: at, damaged: 0, cutOff }
}

const INSERT = `INSERT INTO waiting_ends (request_id, ending) VALUES (?, ?)
  ON CONFLICT (request_id) DO UPDATE SET ending = excluded.ending`
const DELETE = `DELETE FROM waiting_ends WHERE request_id = ?`

/** The table of ends whose accounts do not balance, in the form of the journal. */
export const waitingEnds = (db: LedgerDb, file: SqlStore) => ({
  async read(): Promise<string[]> {
    const rows = await db.selectFrom('waiting_ends').select('ending').execute()
    return rows.map(({ ending }) => ending)
  },
  async add(requestIds: readonly string[], endings: readonly string[]): Promise<void> {
    await changeRows(file, INSERT, ...requestIds.map((requestId, place) => [requestId, endings[place]!]))
  },
  async remove(requestIds: readonly string[]): Promise<void> {
    await changeRows(file, DELETE, ...requestIds.map((requestId) => [requestId]))
  },
})
