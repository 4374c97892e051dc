import { randomBytes } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'

/**
 * Replaces whatever stands at a path by a file that only its owner may read, in one step: a reader never meets half of
 * it. What was there, with its mode, or the file that a link there points to, is not written into.
 */
export async function writePrivately(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}`
  const file = await open(temporary, 'wx', 0o600)
  try {
    try {
      await file.writeFile(text)
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

/** Makes the data folder for its owner alone. One that is there keeps the mode that somebody gave it. */
export async function makeDataFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 })
}
