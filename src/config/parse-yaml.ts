import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, type YAMLMap } from 'yaml'
import { hideFromNowOn, hideSecrets } from '../lib/secret.ts'
import { type ConfigPath, type ConfigProblem, formatPath, type Place } from './problem.ts'

/** Enough for some ten thousand models; an alias bomb passes it at once. */
const NODES_MAX = 500_000
const DEPTH_MAX = 32
/** Syntax errors come in floods: the first ones say what is wrong. */
const SYNTAX_PROBLEMS_MAX = 20
/** These repeat what stands in the file, and a credential may begin with ! or | as well. */
const QUOTES_THE_FILE = /^(Unresolved tag|Block scalar header includes extra characters):.*/s
/** Some three thousand models. */
const FILE_CHARACTERS_MAX = 1024 * 1024

interface Walk {
  readonly placeOf: (node: Node | null, fallback: Place) => Place
  readonly anchored: ReadonlyMap<string, Node>
  readonly problems: ConfigProblem[]
  nodes: number
  overflown: boolean
}

interface ParsedYaml {
  readonly tree: LocatedNode
  readonly problems: readonly ConfigProblem[]
}

/** Text to a tree with places. What cannot be read is left out of the tree and named in the problems. */
export function parseYaml(text: string, origin: string): ParsedYaml {
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
  // The library's own check for duplicate keys compares each with each: 40,000 keys took 24 s. The walk below does it.
  const document = parseDocument(text, { lineCounter, uniqueKeys: false, prettyErrors: false })
  const faults = [...document.errors, ...document.warnings]
  if (faults.length > 0) {
    const problems = faults.slice(0, SYNTAX_PROBLEMS_MAX).map((fault) => ({
      place: placeAt(fault.pos[0]),
      path: '',
      message: `YAML: ${fault.message.replace(QUOTES_THE_FILE, '$1')}`,
      cure: 'Mend the syntax here; nothing after it can be trusted.',
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

/** The parser's time and memory grow with the square of the depth: 2 MB of `- - - -` ended in a full heap. */
function opensTooDeep(text: string): boolean {
  let open = 0
  for (const character of text) {
    if (character === '[' || character === '{') open++
    else if ((character === ']' || character === '}') && open > 0) open--
    if (open > 2 * DEPTH_MAX) return true
  }
  return /(?:[-?:][ \t]+){64}/.test(text) || /^ {1000}/m.test(text)
}

const broken = (place: Place, message: string, cure: string): ParsedYaml => ({
  tree: emptyMap(place),
  problems: [{ place, path: '', message, cure }],
})

/** Gathered once, without recursion: looking one up by the library's own way walks the whole document each time. */
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
    // An alias inside the very thing it names goes round until the depth bound ends it.
    return target === undefined ? undefined : locate(walk, target, place, path)
  }
  if (isMap(node)) return locateMap(walk, node, place, path)
  if (isSeq(node)) {
    const items = node.items.map((item, index) => locateChild(walk, item, place, [...path, index]))
    return { kind: 'list', place, items }
  }
  return locateScalar(walk, node, place, path)
}

/** A child that cannot be read still takes its place, so that the numbers of its neighbours stay right. */
function locateChild(walk: Walk, child: unknown, place: Place, path: (string | number)[]): LocatedNode {
  const node = child as Node | null | undefined
  const nothing: LocatedScalar = {
    kind: 'scalar',
    place: walk.placeOf(node ?? null, place),
    value: null,
    source: 'nothing',
  }
  if (walk.overflown || node === null || node === undefined) return nothing
  return locate(walk, node, place, path) ?? nothing
}

function locateMap(walk: Walk, node: YAMLMap, place: Place, path: (string | number)[]): LocatedNode {
  const entries = new Map<string, LocatedEntry>()
  for (const pair of node.items) {
    if (walk.overflown) break
    const keyNode = pair.key as Node | null
    const keyPlace = walk.placeOf(keyNode, place)
    const key = isScalar(keyNode) ? keyNameOf(keyNode.value) : undefined
    if (key === undefined || key === '__proto__') {
      refuse(walk, keyPlace, path, 'this cannot be the name of a key', 'Names of keys are words.')
      continue
    }
    if (key === '<<') {
      refuse(
        walk,
        keyPlace,
        path,
        'merge keys are not read',
        'Write the keys out; whole values may be shared by *alias.',
      )
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
  refuse(walk, place, path, 'a value of this type is not read', 'Write text, a number, true or false, a list or a map.')
  return undefined
}

function overflow(walk: Walk, place: Place, path: (string | number)[]): undefined {
  if (walk.overflown) return undefined
  walk.overflown = true
  const nearest = path.slice(0, 4)
  refuse(
    walk,
    place,
    nearest,
    'nested too deep, or too many values behind aliases',
    'Write it out flat, without aliases.',
  )
  return undefined
}

function refuse(walk: Walk, place: Place, path: (string | number)[], message: string, cure: string): void {
  walk.problems.push({ place, path: formatPath(path), message, cure })
}

/** A configuration as it was written, with the place of every value: what problems point at. */
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
  /** As written, so that a message never shows what a `${…}` stands for: it may be a secret. */
  readonly source: string
}

const emptyMap = (place: Place): LocatedMap => ({ kind: 'map', place, entries: new Map() })

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

const SECRET_KEYS: ReadonlySet<string | number> = new Set(['api_key', 'secret_key', 'database', 'headers'])

/** Whether what stands there may be a credential: nothing of it is ever repeated. */
export const isSecretPath = (path: ConfigPath): boolean => path.some((step) => SECRET_KEYS.has(step))

/** A name of a variable and nothing more: that may be said, and has to be. */
export const isPlainReference = (text: string): boolean => /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/.test(text)

/** Every credential of the file is hidden from now on, also where it stands in a wrong place as well. */
export function hideCredentials(node: LocatedNode, path: ConfigPath = []): void {
  if (node.kind === 'list') for (const [index, item] of node.items.entries()) hideCredentials(item, [...path, index])
  if (node.kind === 'map') for (const [key, entry] of node.entries) hideCredentials(entry.node, [...path, key])
  if (node.kind !== 'scalar' || !isSecretPath(path) || isPlainReference(String(node.value))) return
  hideFromNowOn(node.source)
  hideFromNowOn(String(node.value))
}

/** What is said of the file, fit for a terminal and a log. */
export const withoutCredentials = (problem: ConfigProblem): ConfigProblem => ({
  ...problem,
  message: hideSecrets(problem.message),
  cure: hideSecrets(problem.cure),
})
