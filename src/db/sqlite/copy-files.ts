import { type FileHandle, open } from 'node:fs/promises'

/**
 * The body of a process that copies files, given as JSON in the form of CopiedPath[]. It is a process of its own because closing a
 * file of a database drops the lock that its process holds on it.
 */
export interface CopiedPath {
  readonly from: string
  readonly to: string
}

const PIECE_BYTES = 1024 * 1024
/** Bytes reach the disk as they come: one sync of all of them at the end would hold up the syncs of the server. */
const SYNC_EVERY_BYTES = 16 * PIECE_BYTES

async function copyFile({ from, to }: CopiedPath): Promise<void> {
  const source = await open(from, 'r')
  try {
    const target = await open(to, 'wx', 0o600)
    try {
      await copyPieces(source, target)
      await target.sync()
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

async function copyPieces(source: FileHandle, target: FileHandle): Promise<void> {
  const piece = Buffer.allocUnsafe(PIECE_BYTES)
  for (let at = 0, unsynced = 0; ; ) {
    const { bytesRead } = await source.read(piece, 0, PIECE_BYTES, at)
    if (bytesRead === 0) return
    for (let done = 0; done < bytesRead; )
      done += (await target.write(piece, done, bytesRead - done, at + done)).bytesWritten
    at += bytesRead
    unsynced += bytesRead
    if (unsynced < SYNC_EVERY_BYTES) continue
    await target.datasync()
    unsynced = 0
  }
}

try {
  for (const paths of JSON.parse(process.argv[2] ?? '[]') as CopiedPath[]) await copyFile(paths)
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException
  process.stdout.write(JSON.stringify({ code, message }))
  process.exitCode = 1
}
