import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, type YAMLMap } from 'yaml'
import { hideFromNowOn, hideSecrets } from '../lib/secret.ts'
import { type ConfigPath, type ConfigProblem, formatPath, type Place } from './problem.ts'

/** About ten thousand models; an alias bomb exceeds it at once. */
const NODES_MAX = 500_000
const DEPTH_MAX = 32
/** One syntax error causes many; the first ones suffice. */
const SYNTAX_PROBLEMS_MAX = 20
/** These messages quote the file, and a credential may begin with ! or |. */
const QUOTES_THE_FILE = /^(Unresolved tag|Block scalar header includes extra characters):.*/s
/** About three thousand models. */
const FILE_CHARACTERS_MAX = 1024 * 1024

interface Walk {
  readonly placeOf: (node: Node | null, fallback: Place) => Place
  readonly anchored: ReadonlyMap<string, Node>
  readonly problems: ConfigProblem[]
  nodes: number
  overflown: boolean
}

/** Text to a tree with places. Unreadable parts are left out of the tree and reported. */
export function parseYaml(text: string, origin: string) {
  const start: Place = { origin, line: 1, column: 1 }
  if (text.length > FILE_CHARACTERS_MAX) {
    const message = `the file has ${text.length} characters, more than ${FILE_CHARACTERS_MAX}`
    return broken(start, message, 'Is this the right file?')
  }
  if (opensTooDeep(text))
    return broken(start, 'the file is nested deeper than any configuration', 'Is this the right file?')
  const lineCounter = new LineCounter()
  const placeAt = (offset: number): Place => {
    const { line, col } = lineCounter.linePos(offset)
    return { origin, line, column: col }
  }
  // The library's check for duplicate keys is quadratic (40,000 keys took 24 s); locateMap does it instead.
  const document = parseDocument(text, { lineCounter, uniqueKeys: false, prettyErrors: false })
  const faults = [...document.errors, ...document.warnings]
  if (faults.length > 0) {
    const problems = faults.slice(0, SYNTAX_PROBLEMS_MAX).map((fault) => ({
      place: placeAt(fault.pos[0]),
      path: '',
      message: `YAML: ${fault.message.replace(QUOTES_THE_FILE, '$1')}`,
      cure: 'Fix the syntax here; later errors may follow from it.',
    }))
    return { tree: emptyMap(start), problems }
  }
  const walk: Walk = {
    placeOf: (node, fallback) => (node?.range ? placeAt(node.range[0]) : fallback),
    anchored: anchorsOf(document.contents),
    problems: [],
    nodes: 0,
    overflown: false,
  }
  const root = document.contents === null ? undefined : locate(walk, document.contents, start, [])
  const tree = root?.kind === 'scalar' && root.value === null ? emptyMap(start) : root
  return { tree: tree ?? emptyMap(start), problems: walk.problems }
}

/** The parser is quadratic in the depth: 2 MB of `- - - -` exhausted the heap. */
function opensTooDeep(text: string): boolean {
  let open = 0
  for (const character of text) {
    if (character === '[' || character === '{') open++
    else if ((character === ']' || character === '}') && open > 0) open--
    if (open > 2 * DEPTH_MAX) return true
  }
  return /(?:[-?:][ \t]+){64}/.test(text) || /^ {1000}/m.test(text)
}

const broken = (place: Place, message: string, cure: string) => ({
  tree: emptyMap(place),
  problems: [{ place, path: '', message, cure }],
})

/** Collected once, without recursion: the library's own lookup walks the whole document each time. */
function anchorsOf(root: unknown): Map<string, Node> {
  const anchored = new Map<string, Node>()
  const pending: unknown[] = [root]
  while (pending.length > 0) {
    const node = pending.pop()
    if ((isScalar(node) || isMap(node) || isSeq(node)) && node.anchor !== undefined) anchored.set(node.anchor, node)
    if (isMap(node)) for (const pair of node.items) pending.push(pair.value, pair.key)
    if (isSeq(node)) pending.push(...node.items)
  }
  return anchored
}

function locate(walk: Walk, node: Node, around: Place, path: (string | number)[]): LocatedNode | undefined {
  const place = walk.placeOf(node, around)
  walk.nodes++
  if (walk.nodes > NODES_MAX || path.length > DEPTH_MAX) return overflow(walk, place, path)
  if (isAlias(node)) {
    const target = walk.anchored.get(node.source)
    if (target === undefined) {
      const named = isSecretPath(path) ? 'nothing is anchored by this name' : `nothing is anchored as &${node.source}`
      refuse(walk, place, path, named, 'Anchor it, or write it out; quote a text that begins with *.')
    }
    // The depth limit ends an alias inside its own anchor.
    return target === undefined ? undefined : locate(walk, target, place, path)
  }
  if (isMap(node)) return locateMap(walk, node, place, path)
  if (isSeq(node)) {
    const items = node.items.map((item, index) => locateChild(walk, item, place, [...path, index]))
    return { kind: 'list', place, items }
  }
  return locateScalar(walk, node, place, path)
}

/** An unreadable child keeps its position, so that the indexes of its neighbours stay right. */
function locateChild(walk: Walk, child: unknown, place: Place, path: (string | number)[]): LocatedNode {
  const node = (child ?? null) as Node | null
  const located = walk.overflown || node === null ? undefined : locate(walk, node, place, path)
  return located ?? { kind: 'scalar', place: walk.placeOf(node, place), value: null, source: 'nothing' }
}

function locateMap(walk: Walk, node: YAMLMap, place: Place, path: (string | number)[]): LocatedNode {
  const entries = new Map<string, LocatedEntry>()
  for (const pair of node.items) {
    if (walk.overflown) break
    const keyNode = pair.key as Node | null
    const keyPlace = walk.placeOf(keyNode, place)
    const key = isScalar(keyNode) ? keyNameOf(keyNode.value) : undefined
    if (key === undefined || key === '__proto__') {
      refuse(walk, keyPlace, path, 'this cannot be the name of a key', 'Use a word.')
      continue
    }
    if (key === '<<') {
      const cure = 'Write the keys out; whole values may be shared by *alias.'
      refuse(walk, keyPlace, path, 'merge keys are not supported', cure)
      continue
    }
    const first = entries.get(key)
    if (first !== undefined) {
      const where = `line ${first.keyPlace.line}, column ${first.keyPlace.column}`
      refuse(walk, keyPlace, [...path, key], `this key is written twice: first at ${where}`, 'Keep one of the two.')
      continue
    }
    entries.set(key, { keyPlace, node: locateChild(walk, pair.value, keyPlace, [...path, key]) })
  }
  return { kind: 'map', place, entries }
}

const keyNameOf = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined

function locateScalar(walk: Walk, node: Node, place: Place, path: (string | number)[]): LocatedNode | undefined {
  if (isScalar(node)) {
    const { value, source } = node
    if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      return { kind: 'scalar', place, value, source: source ?? String(value) }
    }
  }
  const cure = 'Write text, a number, true or false, a list or a map.'
  refuse(walk, place, path, 'a value of this type is not supported', cure)
  return undefined
}

function overflow(walk: Walk, place: Place, path: (string | number)[]): undefined {
  if (!walk.overflown) {
    const message = 'nested too deep, or too many values behind aliases'
    refuse(walk, place, path.slice(0, 4), message, 'Write it out flat, without aliases.')
  }
  walk.overflown = true
}

function refuse(walk: Walk, place: Place, path: (string | number)[], message: string, cure: string): void {
  walk.problems.push({ place, path: formatPath(path), message, cure })
}

/** A configuration as written, with the place of every value for error messages. */
export type LocatedNode = LocatedMap | LocatedList | LocatedScalar

export interface LocatedMap {
  readonly kind: 'map'
  readonly place: Place
  readonly entries: Map<string, LocatedEntry>
}

interface LocatedEntry {
  readonly keyPlace: Place
  readonly node: LocatedNode
}

interface LocatedList {
  readonly kind: 'list'
  readonly place: Place
  readonly items: readonly LocatedNode[]
}

export interface LocatedScalar {
  readonly kind: 'scalar'
  readonly place: Place
  readonly value: string | number | boolean | null
  /** As written: a message must not show what a `${…}` stands for, which may be a secret. */
  readonly source: string
}

const emptyMap = (place: Place): LocatedMap => ({ kind: 'map', place, entries: new Map() })

/** The plain value for the schema. `__proto__` was refused before. */
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

export interface LocatedItem {
  readonly node: LocatedNode
  readonly path: ConfigPath
}

/** The items of the list at a key; none if it is not a list. `path` is the path of the parent. */
export function itemsAt(parent: LocatedNode, key: string, path: ConfigPath = []): LocatedItem[] {
  const node = childOf(parent, key)
  return node?.kind === 'list' ? node.items.map((item, index) => ({ node: item, path: [...path, key, index] })) : []
}

/** The value at a path; undefined if it is absent. */
export function nodeAt(root: LocatedNode, path: ConfigPath): LocatedNode | undefined {
  let node: LocatedNode | undefined = root
  for (const step of path) node = childOf(node, step)
  return node
}

/** The place of a path, or of its nearest parent in the file. */
export function placeAt(root: LocatedNode, path: ConfigPath): Place {
  let node = root
  for (const step of path) {
    const child = childOf(node, step)
    if (child === undefined) break
    node = child
  }
  return node.place
}

/** Sets the value at a path of keys and creates missing maps. If a parent is not a map, checkShape reports it. */
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

/** The tree of a built-in configuration. */
export function treeOf(value: unknown, place: Place): LocatedNode {
  if (Array.isArray(value)) return { kind: 'list', place, items: value.map((item) => treeOf(item, place)) }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(
      ([key, child]) => [key, { keyPlace: place, node: treeOf(child, place) }] as const,
    )
    return { kind: 'map', place, entries: new Map(entries) }
  }
  return { kind: 'scalar', place, value: value as LocatedScalar['value'], source: String(value) }
}

const SECRET_KEYS: ReadonlySet<string | number> = new Set([
  'api_key',
  'client_secret',
  'password',
  'secret_key',
  'webhook_secret',
  'database',
  'headers',
])

/** Whether the value may be a credential, which no message quotes. */
export const isSecretPath = (path: ConfigPath): boolean => path.some((step) => SECRET_KEYS.has(step))

/** Only the name of a variable, which messages may quote. */
export const isPlainReference = (text: string): boolean => /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/.test(text)

/** Hides every credential of the file from now on, wherever else it appears. */
export function hideCredentials(node: LocatedNode, path: ConfigPath = []): void {
  if (node.kind === 'list') for (const [index, item] of node.items.entries()) hideCredentials(item, [...path, index])
  if (node.kind === 'map') for (const [key, entry] of node.entries) hideCredentials(entry.node, [...path, key])
  if (node.kind !== 'scalar' || !isSecretPath(path) || isPlainReference(String(node.value))) return
  hideFromNowOn(node.source)
  hideFromNowOn(String(node.value))
}

/** Fit for a terminal and a log. */
export const withoutCredentials = (problem: ConfigProblem): ConfigProblem => ({
  ...problem,
  message: hideSecrets(problem.message),
  cure: hideSecrets(problem.cure),
})
