import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const KINDS = [
  undefined,
  'open',
  'write',
  'truncate',
  'sync-begin',
  'sync-end',
  'close',
  'rename',
  'unlink',
  'mkdir',
  'rmdir',
  'unknown',
  'link',
]
const HEAD_BYTES = 40
const O_TRUNC = 0o1000
const O_CREAT = 0o100
const O_DIRECTORY = 0o200000

/** Everything that record-writes.c has recorded in a folder, of all processes, in the order of time. */
export function readLogs(folder) {
  const records = readdirSync(folder).flatMap((name) => readLog(join(folder, name), name))
  // The sort is stable: records of one process keep their order.
  return records.sort((a, b) => a.at - b.at)
}

function readLog(path, process) {
  const log = readFileSync(path)
  const records = []
  for (let at = 0; at + HEAD_BYTES <= log.length; ) {
    const bytes = log.readUInt32LE(at)
    const data = log.subarray(at + HEAD_BYTES, at + HEAD_BYTES + bytes)
    // A process that was killed may leave half a record behind; its change was not made known to anybody.
    if (data.length < bytes) break
    const a = Number(log.readBigInt64LE(at + 24))
    records.push({
      kind: KINDS[log.readUInt32LE(at + 4)],
      /** Milliseconds of the clock that process.hrtime reads, too. */
      at: Number(log.readBigInt64LE(at + 8)) / 1e6,
      file: `${process} ${log.readBigInt64LE(at + 16)}`,
      number: a,
      creates: (a & O_CREAT) !== 0,
      truncates: (a & O_TRUNC) !== 0,
      isFolder: (a & O_DIRECTORY) !== 0,
      existed: log.readBigInt64LE(at + 32) !== 0n,
      data,
    })
    at += HEAD_BYTES + bytes
  }
  return records
}
