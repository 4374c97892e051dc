import { randomBytes } from 'node:crypto'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { syncFolder, writeDurably } from '../../lib/write-durably.ts'

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

/**
 * Makes the data folder for its owner alone, durably: the folder above is synced, and so is each one that had to be made on the
 * way. A folder that is there keeps the mode that somebody gave it.
 */
export async function makeDataFolder(path: string): Promise<void> {
  const whole = resolve(path)
  const first = await mkdir(whole, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  const above = dirname(resolve(first))
  for (let folder = dirname(whole); ; folder = dirname(folder)) {
    await syncFolder(folder)
    if (folder === above) return
  }
}
