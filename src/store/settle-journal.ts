import { type FileHandle, open } from 'node:fs/promises'
import { crc32 } from 'node:zlib'

/**
 * Where the end of a turn is written down while the books cannot be written: a file of fixed size, whose place on the disk
 * was taken at the first start, so that a full disk does not stop it. What is read from it after a crash is what was
 * durable; a record that was cut off by the crash is not there.
 */
export interface SettleJournal {
  /** True when the record is on the disk. Never rejects: a journal that is full or broken keeps nothing. */
  append(record: string): Promise<boolean>
  /** Everything appended since it was last cleared, oldest first. */
  read(): Promise<string[]>
  /** Forgets everything, unless something has been appended that `stillNeeded` says of. */
  clear(stillNeeded: () => boolean): Promise<void>
  close(): Promise<void>
}

/** Some ten thousand ends of turns: far more than run at the same time. */
const JOURNAL_BYTES = 8 * 1024 * 1024
/** Length and checksum before each record; a length of zero ends the list. */
const HEAD_BYTES = 8

export async function openSettleJournal(path: string, bytes = JOURNAL_BYTES): Promise<SettleJournal> {
  const file = await openWhole(path, bytes)
  let records = recordsIn(await readWhole(file, bytes))
  let end = records.reduce((sum, record) => sum + HEAD_BYTES + Buffer.byteLength(record), 0)
  let last: Promise<unknown> = Promise.resolve()

  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const mine = last.then(work, work)
    last = mine.catch(() => {})
    return mine
  }
  const write = async (record: string): Promise<boolean> => {
    const framed = frame(record)
    const next = end + framed.length - HEAD_BYTES
    if (next + HEAD_BYTES > bytes) return false
    await file.write(framed, 0, framed.length, end)
    await file.datasync()
    records.push(record)
    end = next
    return true
  }

  return {
    append: (record) => inTurn(() => write(record)).catch(() => false),
    read: () => inTurn(async () => [...records]),
    clear: (stillNeeded) =>
      inTurn(async () => {
        if (end === 0 || stillNeeded()) return
        await file.write(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
        await file.datasync()
        records = []
        end = 0
      }),
    close: () => inTurn(() => file.close()),
  }
}

async function openWhole(path: string, bytes: number): Promise<FileHandle> {
  const file = await open(path, 'r+').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return open(path, 'w+', 0o600)
    throw error
  })
  const { size } = await file.stat()
  if (size < bytes) {
    // Zeros that are written take their place on the disk; a file that is only made longer does not.
    await file.write(Buffer.alloc(bytes - size), 0, bytes - size, size)
    await file.sync()
  }
  return file
}

async function readWhole(file: FileHandle, bytes: number): Promise<Buffer> {
  const whole = Buffer.alloc(bytes)
  const { bytesRead } = await file.read(whole, 0, bytes, 0)
  return whole.subarray(0, bytesRead)
}

/** The record, and behind it the end of the list: what an earlier list has left there is never read again. */
function frame(record: string): Buffer {
  const text = Buffer.from(record)
  const framed = Buffer.alloc(HEAD_BYTES + text.length + HEAD_BYTES)
  framed.writeUInt32LE(text.length, 0)
  framed.writeUInt32LE(crc32(text), 4)
  text.copy(framed, HEAD_BYTES)
  return framed
}

function recordsIn(whole: Buffer): string[] {
  const records: string[] = []
  for (let at = 0; at + HEAD_BYTES <= whole.length; ) {
    const length = whole.readUInt32LE(at)
    const text = whole.subarray(at + HEAD_BYTES, at + HEAD_BYTES + length)
    if (length === 0 || text.length < length || crc32(text) !== whole.readUInt32LE(at + 4)) break
    records.push(text.toString())
    at += HEAD_BYTES + length
  }
  return records
}
