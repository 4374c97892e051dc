import {
  MANAGED_LISTS,
  type ManagedEntry,
  type ManagedKind,
  type ManagedList,
  managedKey,
} from '../contract/managed.ts'
import { childOf, hideCredentials, itemsAt, type LocatedMap, type LocatedNode, treeOf } from './parse-yaml.ts'
import { type ConfigProblem, formatPlace } from './problem.ts'

const LISTS = Object.entries(MANAGED_LISTS) as [ManagedList, ManagedKind][]

/**
 * Where the file has each name, by `managedKey`, as `millrace.yaml:12:5`. Called before managed entries are added, and after imports,
 * whose models are those of the file.
 */
export function ownersOf(tree: LocatedMap, cwd: string): Map<string, string> {
  const owners = new Map<string, string>()
  for (const [list, kind] of LISTS) {
    for (const { node } of itemsAt(tree, list)) {
      const id = childOf(node, 'id')
      if (id?.kind !== 'scalar' || typeof id.value !== 'string') continue
      const place = id.place.origin === 'default' ? 'the default configuration' : formatPlace(id.place, cwd)
      owners.set(managedKey({ kind, name: id.value }), place)
    }
  }
  return owners
}

const ORIGIN = 'managed '

/**
 * Adds entries whose names the file does not have to its lists. They are values: no `${…}` in them is replaced, so that who may
 * manage entries cannot read the environment and the files of the server.
 */
export function addManaged(
  tree: LocatedMap,
  entries: readonly ManagedEntry[],
  owners: ReadonlyMap<string, string>,
): void {
  for (const [list, kind] of LISTS) {
    const added = entries
      .filter((each) => each.kind === kind && !owners.has(managedKey(each)))
      .map((each): LocatedNode => treeOf(each.entry, { origin: ORIGIN + managedKey(each) }))
    if (added.length === 0) continue
    for (const node of added) hideCredentials(node)
    const existing = childOf(tree, list)
    // checkShape reports a list of the file that is none.
    if (existing !== undefined && existing.kind !== 'list' && !(existing.kind === 'scalar' && existing.value === null))
      continue
    const place = existing?.place ?? { origin: ORIGIN + kind }
    const items = [...(existing?.kind === 'list' ? existing.items : []), ...added]
    tree.entries.set(list, { keyPlace: place, node: { kind: 'list', place, items } })
  }
}

/** A managed entry has no place in a list that a person could count. */
export const ofManaged = (problem: ConfigProblem): ConfigProblem =>
  problem.place.origin.startsWith(ORIGIN)
    ? { ...problem, path: problem.path.replace(/^[a-z]+\[\d+\]\.?/, '') }
    : problem
