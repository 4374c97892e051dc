import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Every file below `folder`, as paths with forward slashes relative to it, sorted; nothing when it does not exist. */
export function filesBelow(folder) {
  const found = []
  const walk = (prefix) => {
    for (const entry of readdirSync(join(folder, prefix), { withFileTypes: true })) {
      const path = prefix === '' ? entry.name : `${prefix}/${entry.name}`
      if (entry.isDirectory()) walk(path)
      else found.push(path)
    }
  }
  try {
    walk('')
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  return found.sort()
}

/** The files that `files` of a package.json names, in which `!` excludes a file or folder. */
export function filesOf(root, files) {
  const excluded = files.filter((name) => name.startsWith('!')).map((name) => name.slice(1))
  const isExcluded = (path) => excluded.some((name) => path === name || path.startsWith(`${name}/`))
  return files
    .filter((name) => !name.startsWith('!'))
    .flatMap((name) =>
      statSync(join(root, name)).isDirectory() ? filesBelow(join(root, name)).map((path) => `${name}/${path}`) : [name],
    )
    .filter((path) => !isExcluded(path))
}

/** The text of a file, or undefined when there is none. */
export function textOf(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  }
}

/**
 * One hash over files and facts. It uses contents, not dates, because a clone, a copy and a checkout have fresh dates. Lengths separate
 * the parts, so that different lists never produce the same bytes.
 */
export function fingerprint(root, paths, facts = []) {
  const hash = createHash('sha256')
  const add = (part) => hash.update(`${Buffer.byteLength(part)}:`).update(part)
  for (const fact of facts) add(fact)
  for (const path of paths) {
    const contents = textOf(join(root, path))
    add(path)
    add(contents === undefined ? '(absent)' : `=${contents}`)
  }
  return hash.digest('hex')
}
