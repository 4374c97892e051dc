import type { z } from 'zod'
import { windowName } from '../catalog/catalog.ts'
import { isGlob, matchesGlob, variantId } from '../catalog/resolve-model.ts'
import { nearestName } from '../lib/text.ts'
import { TURN_BYTES } from '../server/concurrency-limiter.ts'
import {
  childOf,
  isPlainReference,
  isSecretPath,
  itemsAt,
  type LocatedItem,
  type LocatedNode,
  nodeAt,
  placeAt,
  plainOf,
} from './parse-yaml.ts'
import { type ConfigPath, type ConfigProblem, formatPath, formatPlace, type Place } from './problem.ts'
import { AS_WRITTEN } from './scalars.ts'
import { configSchema, keysOf, LIST_SECTIONS, overloadSchema, readWindow, schemaAt } from './schema.ts'
import { boundsSchema } from './server-schema.ts'

/** Errors of single values: unknown keys, wrong types, values out of range. */
export function checkShape(tree: LocatedNode): ConfigProblem[] {
  const parsed = configSchema.safeParse(plainOf(tree))
  return parsed.success ? [] : parsed.error.issues.flatMap((issue) => problemsOf(tree, issue))
}

function problemsOf(tree: LocatedNode, issue: z.core.$ZodIssue): ConfigProblem[] {
  const path = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(tree, path, key))
  const { expected, cure, isWhole } = expectationOf(issue)
  const message = isWhole ? expected : `${foundAt(tree, path)}, expected ${expected}`
  const node = nodeAt(tree, path)
  const written = node?.kind === 'scalar' ? node.source : ''
  const fix = cure?.replace(AS_WRITTEN, written) ?? `Write ${expected}.`
  return [{ place: placeAt(tree, path), path: formatPath(path), message, cure: fix }]
}

interface Expectation {
  readonly expected: string
  readonly cure?: string | undefined
  /** The message is complete without what was found. */
  readonly isWhole?: boolean
}

const SHAPES: Readonly<Record<string, string>> = { object: 'a map', record: 'a map', array: 'a list' }

function expectationOf(issue: z.core.$ZodIssue): Expectation {
  switch (issue.code) {
    case 'custom': {
      const { cure, whole } = issue.params ?? {}
      return { expected: issue.message, cure: cure as string | undefined, isWhole: whole === true }
    }
    case 'invalid_type': {
      const expected = SHAPES[issue.expected] ?? issue.expected
      return { expected, cure: `Write ${expected}, or leave the key out if it is optional.` }
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

/** Quotes the file: never what a reference stands for, and nothing of a secret. */
function foundAt(tree: LocatedNode, path: ConfigPath): string {
  const node = nodeAt(tree, path)
  if (node === undefined) return 'missing'
  if (node.kind !== 'scalar') return `found a ${node.kind}`
  if (node.value === null) return 'found nothing'
  const isSecret = isSecretPath(path) || node.source.includes('@')
  if (isSecret && !isPlainReference(node.source))
    return typeof node.value === 'string'
      ? `found a text of ${node.value.length} characters`
      : `found a ${typeof node.value}`
  if (typeof node.value !== 'string') return `found ${node.source}`
  return `found ${JSON.stringify(node.source.length > 60 ? `${node.source.slice(0, 60)}…` : node.source)}`
}

/** A text in the tree and its place. Other shapes are skipped: checkShape reports them. */
interface Mention {
  readonly text: string
  readonly place: Place
  readonly path: ConfigPath
}

type MentionedModel = ReturnType<typeof mentionedModel>

/** Errors between values: unknown names, duplicate ids, settings that exclude each other. */
export function checkReferences(tree: LocatedNode): ConfigProblem[] {
  const models = itemsAt(tree, 'models').map(mentionedModel)
  const idsOf = (list: string) => itemsAt(tree, list).flatMap((item) => mentionIn(item, 'id') ?? [])
  return [
    ...LIST_SECTIONS.flatMap((name) => repeated(idsOf(name), (first) => `this id is taken: first at ${first}`)),
    ...unknownUpstreams(models, idsOf('upstreams')),
    ...models.flatMap(repeatedLanes),
    ...takenVariants(models, idsOf('models')),
    ...unknownPlanModels(tree, models),
    ...unknownSteps(tree, models),
    ...repeatedWindows(tree),
    ...unknownPlansSold(tree, idsOf('plans')),
    ...workersWithoutPostgres(tree),
  ]
}

function unknownUpstreams(models: readonly MentionedModel[], upstreams: readonly Mention[]): ConfigProblem[] {
  const known = [...new Set(upstreams.map((upstream) => upstream.text))]
  return models
    .flatMap(({ lanes }) => lanes)
    .flatMap(({ upstream }) => {
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
      const message = `with this effort the model is also listed as ${variant.text}, which is the id of another model`
      return [problemAt(effort, message, `Remove the effort, or rename ${formatPath(variant.path)}.`)]
    }),
  )
}

const namesOf = (models: readonly MentionedModel[]): string[] =>
  models.flatMap(({ id, efforts }) =>
    id ? [id.text, ...efforts.map((effort) => variantId(id.text, effort.text.toLowerCase()))] : [],
  )

function unknownSteps(tree: LocatedNode, models: readonly MentionedModel[]): ConfigProblem[] {
  const known = namesOf(models)
  return itemsAt(tree, 'models').flatMap((item, index) => {
    const step = nodeAt(item.node, ['step_down'])
    const to = step && mentionIn({ node: step, path: [...item.path, 'step_down'] }, 'to')
    if (to === undefined) return []
    if (to.text === models[index]?.id?.text)
      return [
        problemAt(to, 'a model cannot step down to itself', 'Name a cheaper model, or this one with a lower effort.'),
      ]
    if (known.includes(to.text)) return []
    const near = nearestName(to.text, known)
    const cure = near === undefined ? `Models: ${known.join(', ') || 'none'}.` : `Did you mean ${near}?`
    return [problemAt(to, `there is no model ${JSON.stringify(to.text)}`, cure)]
  })
}

function unknownPlanModels(tree: LocatedNode, models: readonly MentionedModel[]): ConfigProblem[] {
  const bases = models.flatMap(({ id }) => (id ? [id.text] : []))
  const known = namesOf(models)
  return itemsAt(tree, 'plans')
    .flatMap((plan) => mentionsIn(plan, 'models'))
    .flatMap((entry) => {
      if (isGlob(entry.text) ? bases.some((id) => matchesGlob(entry.text, id)) : known.includes(entry.text)) return []
      const near = nearestName(entry.text, known)
      const cure = near === undefined ? `Models: ${bases.join(', ') || 'none'}.` : `Did you mean ${near}?`
      return [problemAt(entry, `${JSON.stringify(entry.text)} matches no model`, cure)]
    })
}

function unknownPlansSold(tree: LocatedNode, plans: readonly Mention[]): ConfigProblem[] {
  const known = [...new Set(plans.map((plan) => plan.text))]
  const stripe = nodeAt(tree, ['payments', 'stripe'])
  if (stripe === undefined) return []
  const sold = itemsAt(stripe, 'plans', ['payments', 'stripe']).flatMap((item) => mentionIn(item, 'plan') ?? [])
  return [
    ...repeated(sold, (first) => `this plan is sold twice: first at ${first}`),
    ...sold.flatMap((plan) => {
      if (known.includes(plan.text)) return []
      const near = nearestName(plan.text, known)
      const cure = near === undefined ? `Plans: ${known.join(', ') || 'none'}.` : `Did you mean ${near}?`
      return [problemAt(plan, `there is no plan ${JSON.stringify(plan.text)}`, cure)]
    }),
  ]
}

/** `7d` and `168h` are the same window and may not have two allowances. */
const repeatedWindows = (tree: LocatedNode): ConfigProblem[] =>
  itemsAt(tree, 'plans').flatMap(({ node, path }) =>
    repeated(
      itemsAt(node, 'windows', path).flatMap((window) => {
        const every = mentionIn(window, 'every')
        const length = every && readWindow(every.text)
        return every && length?.ok ? [{ ...every, text: windowName(length.value) }] : []
      }),
      (first) => `this plan has a window of that length: first at ${first}`,
    ),
  )

function workersWithoutPostgres(tree: LocatedNode): ConfigProblem[] {
  const workers = nodeAt(tree, ['server', 'workers'])
  const database = nodeAt(tree, ['storage', 'database'])
  if (workers?.kind !== 'scalar' || !(Number(workers.value) > 1)) return []
  if (database?.kind === 'scalar' && database.value !== 'sqlite') return []
  const message = `${workers.source} workers need PostgreSQL: SQLite supports one process`
  const cure = 'Set server.workers to 1 or auto, or storage.database to postgres://….'
  return [{ place: workers.place, path: 'server.workers', message, cure }]
}

function repeated(mentions: readonly Mention[], message: (first: string) => string): ConfigProblem[] {
  const first = new Map<string, Mention>()
  return mentions.flatMap((mention) => {
    const earlier = first.get(mention.text)
    if (earlier === undefined) {
      first.set(mention.text, mention)
      return []
    }
    const { line, column, origin } = earlier.place
    const isHere = line !== undefined && origin === mention.place.origin
    const where = isHere ? `line ${line}, column ${column}` : formatPlace(earlier.place, '/')
    const text = `${JSON.stringify(mention.text)}: ${message(where)}`
    return [problemAt(mention, text, 'Rename or remove one of the two.')]
  })
}

const problemAt = ({ place, path }: Mention, message: string, cure: string): ConfigProblem => ({
  place,
  path: formatPath(path),
  message,
  cure,
})

const mentionedModel = (model: LocatedItem) => ({
  id: mentionIn(model, 'id'),
  efforts: mentionsIn(model, 'efforts'),
  lanes: itemsAt(model.node, 'lanes', model.path).map((lane) => ({
    upstream: mentionIn(lane, 'upstream'),
    model: mentionIn(lane, 'model'),
  })),
})

const mentionIn = ({ node, path }: LocatedItem, key: string): Mention | undefined =>
  mentionOf(childOf(node, key), [...path, key])

const mentionsIn = ({ node, path }: LocatedItem, key: string): Mention[] =>
  itemsAt(node, key, path).flatMap((item) => mentionOf(item.node, item.path) ?? [])

const mentionOf = (node: LocatedNode | undefined, path: ConfigPath): Mention | undefined =>
  node?.kind === 'scalar' && typeof node.value === 'string' ? { text: node.value, place: node.place, path } : undefined

/** A body that never fits into the memory budget would be refused as overload for ever. */
export function checkMemoryBudget(tree: LocatedNode): ConfigProblem[] {
  const budget = nodeAt(tree, ['overload', 'memory_budget'])
  const sectionAt = (key: string) => {
    const node = childOf(tree, key)
    return node === undefined ? {} : plainOf(node)
  }
  const overload = overloadSchema.safeParse(sectionAt('overload'))
  const bounds = boundsSchema.safeParse(sectionAt('bounds'))
  // checkShape reports errors within these sections.
  if (budget === undefined || !overload.success || !bounds.success) return []
  const needed = bounds.data.body_bytes + TURN_BYTES
  const { memory_budget: written } = overload.data
  if (written === undefined || written >= needed) return []
  const cure = `Write at least ${needed} (bytes), or lower bounds.body_bytes.`
  const message = 'a body as large as bounds.body_bytes would never fit'
  return [{ place: budget.place, path: 'overload.memory_budget', message, cure }]
}
