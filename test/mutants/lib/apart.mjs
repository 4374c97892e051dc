import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const IMPORT = /(?:from|import) '(\.[^']+)'|import\('(\.[^']+)'\)/g

/**
 * Lists of mutants that can stand in one copy at the same time: no suite that has to see one of them loads a file that another
 * one spoils. To run their suites together proves the same as to run them one by one, and is much sooner done.
 */
export function apart(mutants) {
  const groups = []
  for (const mutant of mutants) {
    const one = {
      mutant,
      spoiled: new Set(mutant.replacements.map(({ file }) => file)),
      loaded: mutant.caughtBy.reduce(filesOf, new Set()),
    }
    const group = groups.find((others) => others.every((other) => !disturbs(one, other) && !disturbs(other, one)))
    if (group) group.push(one)
    else groups.push([one])
  }
  return groups.map((group) => group.map(({ mutant }) => mutant))
}

const disturbs = ({ spoiled }, { loaded }) => [...spoiled].some((file) => loaded.has(file))

/** A file, and all that it imports, and so on; paths from the root. What is not there is no source of ours. */
function filesOf(known, path) {
  if (known.has(path)) return known
  known.add(path)
  for (const [, from, lazily] of textOf(path).matchAll(IMPORT)) {
    filesOf(known, join(dirname(path), from ?? lazily).replaceAll('\\', '/'))
  }
  return known
}

const texts = new Map()

function textOf(path) {
  if (!texts.has(path)) texts.set(path, /\.tsx?$/.test(path) ? readFileSync(join(ROOT, path), 'utf8') : '')
  return texts.get(path)
}
