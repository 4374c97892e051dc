import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const copies = []
process.on('exit', () => {
  for (const copy of copies) rmSync(copy, { recursive: true, force: true })
})

/**
 * A copy of the built product, with pieces of its text replaced. It lies inside the repository, so that it finds the
 * same node_modules. Even the true order runs from a copy: a build in mid-run would mix two versions.
 */
export function copyDist(dist, replacements = []) {
  const cache = join(ROOT, '.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'chaos-'))
  copies.push(folder)
  cpSync(dist, join(folder, 'dist'), { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  for (const replacement of replacements) replaceOnce(join(folder, 'dist'), replacement)
  return join(folder, 'dist')
}

/** A mutant that changes nothing, or more than it says, would prove nothing. */
function replaceOnce(dist, { file, find, put }) {
  const path = join(dist, file)
  const parts = readFileSync(path, 'utf8').split(find)
  if (parts.length !== 2) {
    throw new Error(`${file} has ${parts.length - 1} places like this, not one; adapt the mutant:\n${find}`)
  }
  writeFileSync(path, parts.join(put))
}
