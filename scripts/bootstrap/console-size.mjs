import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

/** A telephone on a slow line has to get it too. */
export const FIRST_LOAD_MAX = 200_000

const ENTRY = 'index.html'
/** Loaded by everybody at once, although by an import of its own. */
const WORDS = 'words/en.ts'

/**
 * Bytes of JavaScript (gzip) that stand between an address and its page: the entry, one catalogue of words, and the page that
 * needs most, each with all that it imports.
 */
export function firstLoad(built) {
  const manifest = JSON.parse(readFileSync(join(built, '.vite', 'manifest.json'), 'utf8'))
  const page = pagesBySize(built, manifest)[0]?.page
  const roots = [ENTRY, WORDS, page].filter((root) => root !== undefined)
  return sizeOf(built, filesOf(manifest, roots))
}

export function pagesBySize(built, manifest) {
  return Object.keys(manifest)
    .filter((name) => name.startsWith('pages/'))
    .map((page) => ({ page, bytes: sizeOf(built, filesOf(manifest, [ENTRY, WORDS, page])) }))
    .sort((one, other) => other.bytes - one.bytes)
}

export function filesOf(manifest, roots) {
  const files = new Set()
  const visit = (name) => {
    const chunk = manifest[name]
    if (chunk === undefined) throw new Error(`the build has no ${name}`)
    if (files.has(chunk.file)) return
    files.add(chunk.file)
    for (const imported of chunk.imports ?? []) visit(imported)
  }
  for (const root of roots) visit(root)
  return [...files].filter((file) => file.endsWith('.js'))
}

const sizeOf = (built, files) =>
  files.reduce((sum, file) => sum + gzipSync(readFileSync(join(built, file)), { level: 9 }).length, 0)
