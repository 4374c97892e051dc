import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Writes `SHA256SUMS` over the named files of a folder, as `sha256sum --check` reads it, and returns its text. */
export function writeChecksums(folder, names) {
  const sums = names
    .toSorted()
    .map((name) => `${sha256(join(folder, name))}  ${name}\n`)
    .join('')
  writeFileSync(join(folder, 'SHA256SUMS'), sums)
  return sums
}

function sha256(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}
