import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const COPIED = ['src', 'vitest.config.ts', 'tsconfig.json', 'package.json']
const copies = []
process.on('exit', () => {
  for (const copy of copies) rmSync(copy, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

/** A copy of the source that may be spoiled. It lies inside the repository, so that it finds the same node_modules. */
export function createSourceCopy() {
  const cache = join(ROOT, '.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'mutants-'))
  copies.push(folder)
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  return { folder, mutate: (replacements) => mutate(folder, replacements) }
}

/** Returns how to undo it. */
function mutate(folder, replacements) {
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

/** A mutant that changes nothing, or more than it says, would prove nothing. */
function replaceOnce(file, text, find, put) {
  const parts = text.split(find)
  if (parts.length === 2) return parts.join(put)
  throw new Error(`${file} has ${parts.length - 1} places like this, not one; adapt the mutant:\n${find}`)
}
