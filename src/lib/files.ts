import { existsSync, renameSync } from 'node:fs'
import { open } from 'node:fs/promises'

/** Makes the names in a folder durable: without it a power cut may lose a new file, although its bytes were synced. */
export async function syncFolder(path: string): Promise<void> {
  // Windows cannot open a folder, and keeps its names durable by itself.
  if (process.platform === 'win32') return
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Makes a new file for its owner alone, with its bytes synced. Its name is durable only after `syncFolder`. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Why a file of the data folder is not used. It stands in the file's new name. */
export type QuarantineReason = 'damaged' | 'other-ledger' | 'ahead'

/** A file that was given another name, so that nothing of it is served and nothing of it is lost. */
export interface Quarantined {
  readonly file: string
  readonly reason: QuarantineReason
}

/** What SQLite keeps beside a database; it finds them again by the new name. */
const COMPANIONS = ['', '-wal', '-shm', '-journal']

export const ASIDE_NAME = /\.set-aside-(?:damaged|other-ledger|ahead)-[0-9TZ.-]+(?:-wal|-shm|-journal)?$/

/** Renames a closed file and what belongs to it. A name that is taken is never written over. */
export function quarantine(path: string, reason: QuarantineReason, now: number): Quarantined {
  const time = new Date(now).toISOString().replaceAll(':', '-')
  let file = `${path}.set-aside-${reason}-${time}`
  for (let count = 2; existsSync(file); count++) file = `${path}.set-aside-${reason}-${time}-${count}`
  for (const companion of COMPANIONS) {
    if (existsSync(`${path}${companion}`)) renameSync(`${path}${companion}`, `${file}${companion}`)
  }
  return { file, reason }
}

/** An optional package that this use needs is not there. Known by its name, which outlives the way between two threads. */
export class MissingPart extends Error {
  override readonly name = 'MissingPart'
}

/** Looks through what an error was caused by. */
export const isMissingPart = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'MissingPart' || isMissingPart(error.cause))
