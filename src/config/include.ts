import { basename, dirname, join, resolve } from 'node:path'
import type { FileReader } from './files.ts'
import { itemsAt, type LocatedMap, type LocatedNode } from './parse-yaml.ts'
import { type ConfigPath, type ConfigProblem, formatPath, formatPlace, type Place } from './problem.ts'

/** Files that one configuration may include, and how deep they may include each other. */
const FILES_MAX = 200
const DEPTH_MAX = 5

export interface IncludeSources {
  /** Parses a file and replaces its references. */
  readonly readTree: (text: string, path: string) => { tree: LocatedNode; problems: readonly ConfigProblem[] }
  readonly readFile: FileReader
  /** The names in a folder; empty if there is none. */
  readonly listFolder: (path: string) => readonly string[]
  /** Called with a folder whose new files would be included. */
  readonly onPattern: (folder: string) => void
}

/**
 * Merges the files of `include` into the tree that names them: maps key by key, lists one after the other. A value that two files
 * set is refused, because the order of files would decide.
 */
export function mergeIncludes(sources: IncludeSources, root: LocatedMap, path: string): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  const included = new Set<string>([path])
  const include = (into: LocatedMap, from: LocatedMap, chain: readonly string[]) => {
    for (const { node, path: at } of itemsAt(from, 'include')) {
      const refuse = (message: string, cure: string) =>
        problems.push({ place: node.place, path: formatPath(at), message, cure, cause: 'file' })
      // checkShape reports it.
      if (node.kind !== 'scalar' || typeof node.value !== 'string') continue
      for (const file of filesOf(sources, dirname(chain.at(-1)!), node.value)) {
        if (chain.includes(file)) refuse(`${file} includes itself`, 'Remove one of the two includes.')
        else if (included.has(file)) refuse(`${file} is included twice`, 'Remove one of the two includes.')
        else if (chain.length > DEPTH_MAX)
          refuse('the files include each other too deep', `At most ${DEPTH_MAX} levels.`)
        else if (included.size > FILES_MAX) refuse('too many files are included', `At most ${FILES_MAX}.`)
        else {
          included.add(file)
          const read = sources.readFile(file)
          if (read.kind === 'missing') refuse(`there is no file ${file}`, 'Fix the path, or create the file.')
          else if (read.kind === 'unreadable') refuse(`${file} cannot be read: ${read.reason}`, 'Fix its permissions.')
          else {
            const parsed = sources.readTree(read.text, file)
            problems.push(...parsed.problems)
            if (parsed.tree.kind !== 'map') refuse(`${file} is not a map`, 'Write it like the main file: models: […]')
            else {
              merge(into, parsed.tree, [], problems)
              include(into, parsed.tree, [...chain, file])
            }
          }
        }
      }
    }
  }
  include(root, root, [path])
  return problems
}

/** One file, or those that match a pattern in the last part of the path, by name. */
function filesOf({ listFolder, onPattern }: IncludeSources, folder: string, written: string): string[] {
  const path = resolve(folder, written)
  const pattern = basename(path)
  if (!pattern.includes('*')) return [path]
  const within = dirname(path)
  onPattern(within)
  const [first = '', ...rest] = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  const matches = new RegExp(`^${[first, ...rest].join('[^/]*')}$`)
  return listFolder(within)
    .filter((name) => !name.startsWith('.') && matches.test(name))
    .sort()
    .map((name) => join(within, name))
}

function merge(into: LocatedMap, from: LocatedMap, path: ConfigPath, problems: ConfigProblem[]): void {
  for (const [key, entry] of from.entries) {
    // Each file includes for itself.
    if (path.length === 0 && key === 'include') continue
    const existing = into.entries.get(key)
    if (existing === undefined) into.entries.set(key, entry)
    else if (existing.node.kind === 'map' && entry.node.kind === 'map')
      merge(existing.node, entry.node, [...path, key], problems)
    else if (existing.node.kind === 'list' && entry.node.kind === 'list') {
      const items = [...existing.node.items, ...entry.node.items]
      into.entries.set(key, { ...existing, node: { ...existing.node, items } })
    } else problems.push(setTwice([...path, key], entry.keyPlace, existing.keyPlace))
  }
}

const setTwice = (path: ConfigPath, place: Place, first: Place): ConfigProblem => ({
  place,
  path: formatPath(path),
  message: `this key is set twice: first at ${formatPlace(first, '/')}`,
  cure: 'Keep one of the two.',
})
