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
