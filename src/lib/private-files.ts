import { randomBytes } from 'node:crypto'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { syncFolder, writeDurably } from './files.ts'

/**
 * Replaces whatever stands at a path by a file that only its owner may read, in one step: a reader never meets half of
 * it, and no power cut leaves it empty. What was there, with its mode, or the file that a link there points to, is not written into.
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

/** Why a path cannot be written, in plain words; undefined for an error code without any. */
export const whyNotWritten = (error: unknown): string | undefined =>
  WRITE_ERRORS[(error as NodeJS.ErrnoException).code ?? '']

const WRITE_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'the folder above it is not there',
  ENOTDIR: 'a part of its path is a file',
  EEXIST: 'there is a file of that name',
  EISDIR: 'there is a folder of that name',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the disk there is read-only',
  ENOSPC: 'the disk there is full',
  ENAMETOOLONG: 'its name is too long',
}

/**
 * Makes the data folder for its owner alone, durably: the folder above is synced, and so is each one that had to be made on the
 * way. A folder that is there keeps the mode that somebody gave it.
 */
export async function makeDataFolder(path: string): Promise<void> {
  const whole = resolve(path)
  const first = await mkdir(whole, { recursive: true, mode: 0o700 }).catch((error: Error) => {
    const why = whyNotWritten(error) ?? error.message
    throw new Error(`The data folder ${whole} cannot be made: ${why}. Name another one with --data or storage.data.`)
  })
  if (first === undefined) return
  const above = dirname(resolve(first))
  for (let folder = dirname(whole); ; folder = dirname(folder)) {
    await syncFolder(folder)
    if (folder === above) return
  }
}
