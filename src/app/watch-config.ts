import { watch } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Editors and deployments write a file in several steps, or put another one in its place; one reading is enough. */
const SETTLE_MS = 150

/**
 * Calls back when the file has changed. Its folder is watched, because a file that is replaced is another file; a folder
 * that cannot be watched leaves SIGHUP. Returns how to stop.
 */
export function watchConfig(path: string, onChange: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const name = basename(path)
  try {
    const watcher = watch(dirname(path), { persistent: false }, (_event, changed) => {
      if (changed !== null && changed !== name) return
      clearTimeout(timer)
      timer = setTimeout(onChange, SETTLE_MS)
      timer.unref()
    })
    watcher.on('error', () => watcher.close())
    return () => {
      clearTimeout(timer)
      watcher.close()
    }
  } catch {
    return () => {}
  }
}
