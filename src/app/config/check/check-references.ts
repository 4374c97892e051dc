import { variantId } from '../../../catalog/effort-suffix.ts'
import { isGlob, matchesGlob } from '../../../catalog/glob.ts'
import { windowName } from '../../../catalog/plan-window.ts'
import { nearestName } from '../../../lib/nearest-name.ts'
import { type ConfigPath, type ConfigProblem, formatPath, formatPlace, type Place } from '../config-problem.ts'
import { childOf, type LocatedNode } from '../read/located-tree.ts'
import { LIST_SECTIONS, type ListSection } from '../schema/config-schema.ts'
import { readWindow } from '../schema/plan-schema.ts'

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
