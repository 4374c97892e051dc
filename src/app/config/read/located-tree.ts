import type { ConfigPath, Place } from '../config-problem.ts'

/** A configuration as it was written, with the place of every value: what problems point at. */
export type LocatedNode = LocatedMap | LocatedList | LocatedScalar

export interface LocatedMap {
  readonly kind: 'map'
  readonly place: Place
  readonly entries: Map<string, LocatedEntry>
}

export interface LocatedEntry {
  readonly keyPlace: Place
  readonly node: LocatedNode
}

export interface LocatedList {
  readonly kind: 'list'
  readonly place: Place
  readonly items: readonly LocatedNode[]
}

export interface LocatedScalar {
  readonly kind: 'scalar'
  readonly place: Place
  readonly value: string | number | boolean | null
  /** As written, so that a message never shows what a `${…}` stands for: it may be a secret. */
  readonly source: string
}

export const emptyMap = (place: Place): LocatedMap => ({ kind: 'map', place, entries: new Map() })

/** The bare value, for a schema to judge. Keys named like parts of an object's prototype are refused before. */
export function plainOf(node: LocatedNode): unknown {
  switch (node.kind) {
    case 'scalar':
      return node.value
    case 'list':
      return node.items.map(plainOf)
    case 'map':
      return Object.fromEntries([...node.entries].map(([key, entry]) => [key, plainOf(entry.node)]))
  }
}

export function childOf(node: LocatedNode | undefined, step: string | number): LocatedNode | undefined {
  if (node?.kind === 'map') return node.entries.get(String(step))?.node
  if (node?.kind === 'list' && typeof step === 'number') return node.items[step]
  return undefined
}

/** The value at a path, or undefined where nothing was written. */
export function nodeAt(root: LocatedNode, path: ConfigPath): LocatedNode | undefined {
  let node: LocatedNode | undefined = root
  for (const step of path) node = childOf(node, step)
  return node
}

/** The place of a path, or of the nearest thing around it that was written. */
export function placeAt(root: LocatedNode, path: ConfigPath): Place {
  let node = root
  for (const step of path) {
    const child = childOf(node, step)
    if (child === undefined) break
    node = child
  }
  return node.place
}

/** Puts a value at a path of keys, making the maps on the way. Something that is no map on the way is left to be refused. */
export function setAt(root: LocatedMap, path: readonly string[], node: LocatedNode): void {
  const [key, ...rest] = path
  if (key === undefined) return
  if (rest.length === 0) {
    root.entries.set(key, { keyPlace: node.place, node })
    return
  }
  const existing = root.entries.get(key)?.node
  if (existing !== undefined && existing.kind !== 'map') return
  const child = existing ?? emptyMap(node.place)
  if (existing === undefined) root.entries.set(key, { keyPlace: node.place, node: child })
  setAt(child, rest, node)
}

/** A tree of our own making, for the configuration that stands when there is no file. */
export function treeOf(value: unknown, place: Place): LocatedNode {
  if (Array.isArray(value)) return { kind: 'list', place, items: value.map((item) => treeOf(item, place)) }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, child]): [string, LocatedEntry] => [
      key,
      { keyPlace: place, node: treeOf(child, place) },
    ])
    return { kind: 'map', place, entries: new Map(entries) }
  }
  return { kind: 'scalar', place, value: value as LocatedScalar['value'], source: String(value) }
}
