import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DIST } from './program.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/**
 * A copy of the built product, with pieces of its text replaced. Even the true order runs from a copy where a build in
 * mid-run would mix two versions.
 */
export function copyDist(dist = DIST, replacements = []) {
  const copy = copyOf({ dist, 'package.json': join(ROOT, 'package.json') })
  copy.replace(replacements.map((replacement) => ({ ...replacement, file: join('dist', replacement.file) })))
  return { dist: join(copy.folder, 'dist'), clear: copy.clear }
}

const SOURCE = [
  'src',
  'console',
  'test/support',
  'test/fakes',
  'test/fixtures',
  'test/fuzz',
  'test/translation-gaps',
  'vitest.config.ts',
  'tsconfig.json',
  'package.json',
]

/** A copy of the source and of what runs its tests. What it does in other threads it does by the true build. */
export function copySource() {
  const copy = copyOf(Object.fromEntries(SOURCE.map((name) => [name, join(ROOT, name)])))
  symlinkSync(join(ROOT, 'dist'), join(copy.folder, 'dist'))
  return copy
}

/** It lies inside the repository, so that it finds the same packages, and is deleted with this process at the latest. */
function copyOf(parts) {
  const cache = join(ROOT, '.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'copy-'))
  const clear = () => {
    process.off('exit', clear)
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', clear)
  for (const [name, from] of Object.entries(parts)) cpSync(from, join(folder, name), { recursive: true })
  return { folder, clear, replace: (replacements) => replaceIn(folder, replacements) }
}

/** Returns how to undo it. */
function replaceIn(folder, replacements) {
  const originals = new Map()
  for (const { file, find, put } of replacements) {
    const path = join(folder, file)
    const text = readFileSync(path, 'utf8')
    if (!originals.has(path)) originals.set(path, text)
    writeFileSync(path, replaceOnce(file, text, find, put))
  }
  return () => {
    for (const [path, text] of originals) writeFileSync(path, text)
  }
}

/** A fault that changes nothing, or more than it says, would prove nothing. */
function replaceOnce(file, text, find, put) {
  const parts = text.split(find)
  if (parts.length === 2) return parts.join(put)
  throw new Error(`${file} has ${parts.length - 1} places like this, not one; adapt the fault:\n${find}`)
}
