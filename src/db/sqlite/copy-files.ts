import { type FileHandle, open, rm, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * The body of a process that copies the files that it is sent. It is a process of its own because closing a file of a database
 * drops the lock that its process holds on it, and because it alone waits when the disk of a backup hangs.
 */
export interface CopiedPath {
  readonly from: string
  readonly to: string
  /** Whether the source is deleted once it is copied. */
  readonly isMoved: boolean
}

export type CopierReply =
  /** Another piece is written. */
  | { readonly kind: 'piece' }
  /** All the files of one message are copied. */
  | { readonly kind: 'copied' }
  | { readonly kind: 'no-room'; readonly freeBytes: number; readonly neededBytes: number }
  | { readonly kind: 'failed'; readonly code: string | undefined; readonly message: string }

/** What must stay free on the disk of the backup. It may be the disk of the ledger. */
const RESERVE_BYTES = 64 * 1024 * 1024

const PIECE_BYTES = 1024 * 1024
/** Bytes reach the disk as they come: one sync of all of them at the end would hold up the syncs of the server. */
const SYNC_EVERY_BYTES = 16 * PIECE_BYTES

const reply = (message: CopierReply): void => void process.send?.(message)

async function copyFiles(paths: readonly CopiedPath[]): Promise<void> {
  let neededBytes = RESERVE_BYTES
  for (const { from } of paths) neededBytes += (await stat(from)).size
  const { bavail, bsize } = await statfs(dirname(paths[0]!.to))
  if (bavail * bsize < neededBytes) return reply({ kind: 'no-room', freeBytes: bavail * bsize, neededBytes })
  for (const path of paths) await copyFile(path)
  reply({ kind: 'copied' })
}

async function copyFile({ from, to, isMoved }: CopiedPath): Promise<void> {
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
  if (isMoved) await rm(from)
}

async function copyPieces(source: FileHandle, target: FileHandle): Promise<void> {
  const piece = Buffer.allocUnsafe(PIECE_BYTES)
  for (let at = 0, unsynced = 0; ; ) {
    const { bytesRead } = await source.read(piece, 0, PIECE_BYTES, at)
    if (bytesRead === 0) return
    for (let done = 0; done < bytesRead; )
      done += (await target.write(piece, done, bytesRead - done, at + done)).bytesWritten
    reply({ kind: 'piece' })
    at += bytesRead
    unsynced += bytesRead
    if (unsynced < SYNC_EVERY_BYTES) continue
    await target.datasync()
    unsynced = 0
  }
}

process.on('message', (paths: readonly CopiedPath[]) => {
  copyFiles(paths).catch(({ code, message }: NodeJS.ErrnoException) => reply({ kind: 'failed', code, message }))
})
// The server has ended.
process.on('disconnect', () => process.exit())
