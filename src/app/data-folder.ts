import { mkdir } from 'node:fs/promises'

/** Makes the data folder for its owner alone. One that is there keeps the mode that somebody gave it. */
export async function makeDataFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 })
}
