import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import { windowName } from '../catalog/catalog.ts'
import { isGlob, matchesGlob } from '../catalog/glob.ts'
import { variantId } from '../catalog/resolve-model.ts'
import { nearestName } from '../lib/text.ts'
import { TURN_BYTES } from '../server/concurrency-limiter.ts'
import { childOf, isPlainReference, isSecretPath, type LocatedNode, nodeAt, placeAt, plainOf } from './parse-yaml.ts'
import { type ConfigPath, type ConfigProblem, formatPath, formatPlace, type Place } from './problem.ts'
import { AS_WRITTEN } from './scalars.ts'
import {
  configSchema,
  keysOf,
  LIST_SECTIONS,
  type ListSection,
  overloadSchema,
  readWindow,
  schemaAt,
} from './schema.ts'
import { boundsSchema } from './server-schema.ts'

/** Everything that is wrong with a value by itself: unknown keys, wrong types, nonsense. */
export function checkShape(tree: LocatedNode): ConfigProblem[] {
  const parsed = configSchema.safeParse(plainOf(tree))
  if (parsed.success) return []
  return parsed.error.issues.flatMap((issue) => problemsOf(tree, issue))
}

function problemsOf(tree: LocatedNode, issue: z.core.$ZodIssue): ConfigProblem[] {
  const path = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(tree, path, key))
  const { expected, cure, whole } = expectationOf(issue)
  const place = placeAt(tree, path)
  const message = whole ? expected : `${foundAt(tree, path)}, expected ${expected}`
  const node = nodeAt(tree, path)
  const written = node?.kind === 'scalar' ? node.source : ''
  return [{ place, path: formatPath(path), message, cure: cure?.replace(AS_WRITTEN, written) ?? `Write ${expected}.` }]
}

interface Expectation {
  readonly expected: string
  readonly cure?: string | undefined
  /** The message says it all: what was found would add nothing. */
  readonly whole?: boolean
}

const SHAPES: Readonly<Record<string, string>> = { object: 'a map', record: 'a map', array: 'a list' }

function expectationOf(issue: z.core.$ZodIssue): Expectation {
  switch (issue.code) {
    case 'custom': {
      const whole = issue.params?.whole === true
      return { expected: issue.message, cure: issue.params?.cure as string | undefined, whole }
    }
    case 'invalid_type': {
      const expected = SHAPES[issue.expected] ?? issue.expected
      return { expected, cure: `Write ${expected}, or leave the key out if it may be absent.` }
    }
    case 'invalid_key':
      return { expected: issue.issues[0]?.message ?? 'another name' }
    default:
      return { expected: issue.message }
  }
}

function unknownKey(tree: LocatedNode, path: ConfigPath, key: string): ConfigProblem {
  const known = keysOf(schemaAt(configSchema, path))
  const near = nearestName(key, known)
  const parent = nodeAt(tree, path)
  const place = parent?.kind === 'map' ? parent.entries.get(key)?.keyPlace : undefined
  return {
    place: place ?? placeAt(tree, path),
    path: formatPath([...path, key]),
    message: 'there is no such key',
    cure: near === undefined ? `Known here: ${known.join(', ')}.` : `Did you mean ${near}?`,
  }
}

/** What was written there, as written: never what a reference stands for, and nothing at all of a secret. */
function foundAt(tree: LocatedNode, path: ConfigPath): string {
  const node = nodeAt(tree, path)
  if (node === undefined) return 'missing'
  if (node.kind === 'map') return 'found a map'
  if (node.kind === 'list') return 'found a list'
  if (node.value === null) return 'found nothing'
  const secret = isSecretPath(path) || node.source.includes('@')
  if (secret && !isPlainReference(node.source))
    return typeof node.value === 'string'
      ? `found a text of ${node.value.length} characters`
      : `found a ${typeof node.value}`
  if (typeof node.value !== 'string') return `found ${node.source}`
  return `found ${JSON.stringify(node.source.length > 60 ? `${node.source.slice(0, 60)}…` : node.source)}`
}

/** A text in the tree, with where it stands. The tree may be wrong elsewhere: what has another shape is passed over. */
interface Mention {
  readonly text: string
  readonly place: Place
  readonly path: ConfigPath
}

interface MentionedModel {
  readonly id: Mention | undefined
  readonly efforts: readonly Mention[]
  readonly lanes: readonly { readonly upstream: Mention | undefined; readonly model: Mention | undefined }[]
}

/** Everything that is wrong between values: names that dangle, ids that occur twice, choices that exclude each other. */
export function checkReferences(tree: LocatedNode): ConfigProblem[] {
  const models = itemsOf(tree, ['models']).map(({ node, path }) => mentionedModel(node, path))
  const upstreams = idsOf(tree, 'upstreams')
  const modelIds = idsOf(tree, 'models')
  return [
    ...LIST_SECTIONS.flatMap((name) => repeated(idsOf(tree, name), (first) => `this id is taken: first at ${first}`)),
    ...models.flatMap((model) => danglingLanes(model, upstreams)),
    ...models.flatMap(repeatedLanes),
    ...takenVariants(models, modelIds),
    ...danglingPlanModels(tree, models),
    ...repeatedWindows(tree),
    ...workersWithoutPostgres(tree),
  ]
}

function danglingLanes(model: MentionedModel, upstreams: readonly Mention[]): ConfigProblem[] {
  const known = [...new Set(upstreams.map((upstream) => upstream.text))]
  return model.lanes.flatMap(({ upstream }) => {
    if (upstream === undefined || known.includes(upstream.text)) return []
    const near = nearestName(upstream.text, known)
    const declare =
      upstream.text === 'demo'
        ? ' Add to upstreams: { id: demo, wire: demo }.'
        : ` Declared: ${known.join(', ') || 'none'}.`
    const cure = near === undefined ? `Declare it under upstreams.${declare}` : `Did you mean ${near}?`
    return [problemAt(upstream, `there is no upstream ${JSON.stringify(upstream.text)}`, cure)]
  })
}

const repeatedLanes = ({ lanes }: MentionedModel): ConfigProblem[] =>
  repeated(
    lanes.flatMap(({ upstream, model }) =>
      upstream && model ? [{ ...upstream, text: `${upstream.text}/${model.text}` }] : [],
    ),
    (first) => `this lane is listed twice: first at ${first}`,
  )

function takenVariants(models: readonly MentionedModel[], ids: readonly Mention[]): ConfigProblem[] {
  return models.flatMap(({ id, efforts }) =>
    efforts.flatMap((effort) => {
      const variant = id && ids.find((other) => other.text === variantId(id.text, effort.text.toLowerCase()))
      if (variant === undefined) return []
      const message = `with this effort the model is also ${variant.text}, which another model is called`
      return [problemAt(effort, message, `Leave the effort out, or rename ${formatPath(variant.path)}.`)]
    }),
  )
}

function danglingPlanModels(tree: LocatedNode, models: readonly MentionedModel[]): ConfigProblem[] {
  const bases = models.flatMap(({ id }) => (id ? [id.text] : []))
  const known = models.flatMap(({ id, efforts }) =>
    id ? [id.text, ...efforts.map((effort) => variantId(id.text, effort.text.toLowerCase()))] : [],
  )
  return itemsOf(tree, ['plans'])
    .flatMap(({ node, path }) => mentionsOf(childOf(node, 'models'), [...path, 'models']))
    .flatMap((entry) => {
      if (isGlob(entry.text) ? bases.some((id) => matchesGlob(entry.text, id)) : known.includes(entry.text)) return []
      const near = nearestName(entry.text, known)
      const cure = near === undefined ? `Models: ${bases.join(', ') || 'none'}.` : `Did you mean ${near}?`
      return [problemAt(entry, `${JSON.stringify(entry.text)} matches no model`, cure)]
    })
}

/** `7d` and `168h` are the same window: an allowance for each of the two would be one too many. */
const repeatedWindows = (tree: LocatedNode): ConfigProblem[] =>
  itemsOf(tree, ['plans']).flatMap(({ node, path }) =>
    repeated(
      itemsOf(childOf(node, 'windows'), []).flatMap(({ node: window, path: at }) => {
        const every = mentionOf(childOf(window, 'every'), [...path, 'windows', ...at, 'every'])
        const length = every && readWindow(every.text)
        return every && length?.ok ? [{ ...every, text: windowName(length.value) }] : []
      }),
      (first) => `this plan has a window of that length: first at ${first}`,
    ),
  )

function workersWithoutPostgres(tree: LocatedNode): ConfigProblem[] {
  const workers = childOf(childOf(tree, 'server'), 'workers')
  const database = childOf(childOf(tree, 'storage'), 'database')
  if (workers?.kind !== 'scalar' || !(Number(workers.value) > 1)) return []
  if (database?.kind === 'scalar' && database.value !== 'sqlite') return []
  const message = `${workers.source} workers need PostgreSQL: SQLite is one process`
  const cure = 'Set server.workers to 1, or storage.database to postgres://….'
  return [{ place: workers.place, path: 'server.workers', message, cure }]
}

function repeated(mentions: readonly Mention[], message: (first: string) => string): ConfigProblem[] {
  const first = new Map<string, Mention>()
  return mentions.flatMap((mention) => {
    const earlier = first.get(mention.text)
    if (earlier !== undefined) {
      const { line, column } = earlier.place
      const where = line === undefined ? formatPlace(earlier.place, '/') : `line ${line}, column ${column}`
      return [
        problemAt(mention, `${JSON.stringify(mention.text)}: ${message(where)}`, 'Rename or remove one of the two.'),
      ]
    }
    first.set(mention.text, mention)
    return []
  })
}

const problemAt = (mention: Mention, message: string, cure: string): ConfigProblem => ({
  place: mention.place,
  path: formatPath(mention.path),
  message,
  cure,
})

function mentionedModel(node: LocatedNode, path: ConfigPath): MentionedModel {
  const lanes = itemsOf(childOf(node, 'lanes'), []).map(({ node: lane, path: at }) => ({
    upstream: mentionOf(childOf(lane, 'upstream'), [...path, 'lanes', ...at, 'upstream']),
    model: mentionOf(childOf(lane, 'model'), [...path, 'lanes', ...at, 'model']),
  }))
  const efforts = mentionsOf(childOf(node, 'efforts'), [...path, 'efforts'])
  return { id: mentionOf(childOf(node, 'id'), [...path, 'id']), efforts, lanes }
}

const idsOf = (tree: LocatedNode, name: ListSection): Mention[] =>
  itemsOf(tree, [name]).flatMap(({ node, path }) => mentionOf(childOf(node, 'id'), [...path, 'id']) ?? [])

const mentionsOf = (node: LocatedNode | undefined, path: ConfigPath): Mention[] =>
  itemsOf(node, []).flatMap((item) => mentionOf(item.node, [...path, ...item.path]) ?? [])

const mentionOf = (node: LocatedNode | undefined, path: ConfigPath): Mention | undefined =>
  node?.kind === 'scalar' && typeof node.value === 'string' ? { text: node.value, place: node.place, path } : undefined

function itemsOf(root: LocatedNode | undefined, path: readonly string[]): { node: LocatedNode; path: ConfigPath }[] {
  let node = root
  for (const step of path) node = childOf(node, step)
  return node?.kind === 'list' ? node.items.map((item, index) => ({ node: item, path: [...path, index] })) : []
}

/** Where the largest body never fits beside its turn, its client would be told for ever to try again. */
export function checkMemoryBudget(tree: LocatedNode): ConfigProblem[] {
  const node = nodeOf(tree, 'overload')
  const budget = node && childOf(node, 'memory_budget')
  const overload = overloadSchema.safeParse(node === undefined ? {} : plainOf(node))
  const boundsNode = nodeOf(tree, 'bounds')
  const bounds = boundsSchema.safeParse(boundsNode === undefined ? {} : plainOf(boundsNode))
  // What is wrong by itself is told elsewhere.
  if (budget === undefined || !overload.success || !bounds.success) return []
  const needed = bounds.data.body_bytes + TURN_BYTES
  const { memory_budget: written } = overload.data
  if (written === undefined || written >= needed) return []
  return [
    {
      place: budget.place,
      path: 'overload.memory_budget',
      message: 'a body as large as bounds.body_bytes would never fit',
      cure: `Write at least ${needed} (bytes), or lower bounds.body_bytes.`,
    },
  ]
}

const nodeOf = (tree: LocatedNode, key: string): LocatedNode | undefined => childOf(tree, key)

interface NotYet {
  /** `[]` stands for every item of a list. */
  readonly path: string
  /** What would have to be there, as the end of "this version …". */
  readonly says: string
  readonly cure: string
}

const LEAVE_OUT = 'Leave it out, or at its default.'

/**
 * What the schema knows and this version cannot do: refused by name, because accepting it in silence would be a lie
 * about timeouts, limits or money. A part that builds one of these deletes its row.
 */
export const NOT_YET: readonly NotYet[] = [
  { path: 'models[].price.multipliers', says: 'has no price multipliers', cure: LEAVE_OUT },
  { path: 'storage.database', says: 'keeps its books in SQLite only', cure: 'Write sqlite, or leave it out.' },
]

/** Everything that is asked for and cannot be had yet. Keys at their default are always fine. */
export function checkNotYet(tree: LocatedNode): ConfigProblem[] {
  return NOT_YET.flatMap(({ path: pattern, says, cure }) =>
    written(tree, pattern)
      .filter(({ node, path }) => !isStanding(path, node))
      .map(({ node, path }) => ({ place: node.place, path: formatPath(path), message: `this version ${says}`, cure })),
  )
}

function isStanding(path: ConfigPath, node: LocatedNode): boolean {
  const schema = schemaAt(configSchema, path)
  const value = schema?.safeParse(plainOf(node))
  // A value of the wrong shape is refused for that; what is inside a list or a map says enough to be named here as well.
  if (schema === undefined || !value?.success) return node.kind === 'scalar'
  const standing = schema.safeParse(undefined)
  return standing.success && isDeepStrictEqual(value.data, standing.data)
}

function written(tree: LocatedNode, pattern: string): { node: LocatedNode; path: ConfigPath }[] {
  let found: { node: LocatedNode; path: ConfigPath }[] = [{ node: tree, path: [] }]
  for (const step of pattern.replaceAll('[]', '.[]').split('.')) {
    found = found.flatMap(({ node, path }) => {
      if (step === '[]') {
        return node.kind === 'list' ? node.items.map((item, index) => ({ node: item, path: [...path, index] })) : []
      }
      const child = childOf(node, step)
      return child === undefined ? [] : [{ node: child, path: [...path, step] }]
    })
  }
  return found
}
