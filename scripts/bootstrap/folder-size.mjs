import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { filesBelow } from './fingerprint.mjs'

/** Bytes of all files below a folder; links count as themselves. */
export const folderSize = (folder) =>
  filesBelow(folder).reduce((sum, path) => sum + lstatSync(join(folder, path)).size, 0)
