import { randomBytes } from 'node:crypto'
import { existsSync, renameSync, type Stats, statSync } from 'node:fs'
import { lchown, mkdir, open, rename, rm, stat, statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/** Makes the names in a folder durable. Without it a power cut may lose a new file whose bytes were synced. */
export async function syncFolder(path: string): Promise<void> {
  // Windows cannot open a folder, and its names are durable anyway.
  if (process.platform === 'win32') return
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Makes the bytes of a written file durable. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Creates a file for its owner alone, with its bytes synced. Its name is durable after `syncFolder`. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Why a file of the data folder is quarantined: a part of its new name. */
export type QuarantineReason = 'damaged' | 'other-ledger' | 'ahead'

/** A renamed file: its content is not used, and not lost. */
export interface Quarantined {
  readonly file: string
  readonly reason: QuarantineReason
}

/** SQLite's files beside a database. SQLite finds them by the new name. */
const COMPANIONS = ['', '-wal', '-shm', '-journal']

export const ASIDE_NAME = /\.set-aside-(?:damaged|other-ledger|ahead)-[0-9TZ.-]+(?:-wal|-shm|-journal)?$/

/** Files that only a started ledger leaves. A key ring may exist before a ledger, and names none then. */
export const LEDGER_FILES = ['content.db', 'settles.journal']

/** Where the files of a ledger are while it is moved into a folder. */
export const unfinishedMove = (path: string): string => `${path}.moving`

/** Where the files of a backup are while it is restored into a folder. */
export const unfinishedRestore = (path: string): string => `${path}.restoring`

/** Renames a closed file and its companions. Never overwrites a file. */
export function quarantine(path: string, reason: QuarantineReason, now: number): Quarantined {
  const time = new Date(now).toISOString().replaceAll(':', '-')
  let file = `${path}.set-aside-${reason}-${time}`
  for (let count = 2; existsSync(file); count++) file = `${path}.set-aside-${reason}-${time}-${count}`
  for (const companion of COMPANIONS) {
    if (existsSync(`${path}${companion}`)) renameSync(`${path}${companion}`, `${file}${companion}`)
  }
  return { file, reason }
}

/** An optional package is not installed. Recognised by its name, because the class is lost between threads. */
export class MissingPart extends Error {
  override readonly name = 'MissingPart'
}

/** Looks through the causes of an error. */
export const isMissingPart = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'MissingPart' || isMissingPart(error.cause))

/**
 * Replaces the file at a path by one that only its owner may read, in one step: a reader never sees half of it, and a power cut
 * never leaves it empty. The old file, or the target of a link there, is not written into.
 */
export async function writePrivately(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}`
  try {
    await writeDurably(temporary, text)
    await rename(temporary, path)
    await syncFolder(dirname(path))
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

type Owner = Pick<Stats, 'uid' | 'gid'>

/** For root, whose a new file at a path has to be: of the user of the service that will read it. Undefined for other users. */
export async function ownerFor(path: string): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined
  for (let at = resolve(path); ; at = dirname(at)) {
    const found = await stat(at).catch(() => undefined)
    if (found !== undefined || at === dirname(at)) return found
  }
}

/** Follows no link, because the owner may have put one there. */
export async function giveTo(owner: Owner | undefined, paths: readonly string[]): Promise<void> {
  if (owner === undefined) return
  for (const path of paths) await lchown(path, owner.uid, owner.gid)
}

/** Why a path cannot be written; undefined for an unknown error code. */
export const whyNotWritten = (error: unknown): string | undefined =>
  WRITE_ERRORS[(error as NodeJS.ErrnoException).code ?? '']

const WRITE_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'the folder above it does not exist',
  ENOTDIR: 'a part of its path is a file',
  EEXIST: 'there is a file of that name',
  EISDIR: 'there is a folder of that name',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the disk there is read-only',
  ENOTEMPTY: 'there is a folder of that name',
  ENOSPC: 'the disk there is full',
  EDQUOT: 'the quota of this user there is used up',
  ENAMETOOLONG: 'its name is too long',
}

/** How large these files are together. One that this user cannot see has no size. */
export function bytesOf(paths: readonly string[]): number {
  let sum = 0
  for (const path of paths) {
    try {
      sum += statSync(path).size
    } catch {
      // It is not there.
    }
  }
  return sum
}

/** What must stay free on the disk of a ledger, or what may be its disk. */
const RESERVE_BYTES = 64 * 1024 * 1024

/** Why so much cannot be copied to a path, which need not exist yet. */
export async function whyDiskFull(path: string, bytes: number): Promise<string | undefined> {
  const whole = resolve(path)
  const disk = await statfs(whole).catch(() => undefined)
  if (disk === undefined) return dirname(whole) === whole ? undefined : whyDiskFull(dirname(whole), bytes)
  const [free, needed] = [disk.bavail * disk.bsize, bytes + RESERVE_BYTES]
  const mebibytes = (count: number) => Math.ceil(count / 1024 / 1024)
  return free >= needed
    ? undefined
    : `The disk of ${whole} has ${mebibytes(free)} MiB left, and ${mebibytes(needed)} MiB are needed.`
}

/**
 * Creates the data folder for its owner alone, durably: each created folder and the one above are synced. An existing folder keeps
 * its mode.
 */
export async function makeDataFolder(path: string): Promise<void> {
  const whole = resolve(path)
  const first = await mkdir(whole, { recursive: true, mode: 0o700 }).catch((error: Error) => {
    const why = whyNotWritten(error) ?? error.message
    throw new Error(`The data folder ${whole} cannot be created: ${why}. To use another one: --data or storage.data.`)
  })
  if (first === undefined) return
  const above = dirname(resolve(first))
  for (let folder = dirname(whole); ; folder = dirname(folder)) {
    await syncFolder(folder)
    if (folder === above) return
  }
}
