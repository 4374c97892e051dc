import { isDeepStrictEqual } from 'node:util'
import { type ConfigPath, type ConfigProblem, formatPath } from './config-problem.ts'
import { childOf, type LocatedNode, plainOf } from './located-tree.ts'
import { configSchema } from './schema/config-schema.ts'
import { schemaAt } from './schema-at.ts'

interface NotYet {
  /** `[]` stands for every item of a list. */
  readonly path: string
  /** What would have to be there, as the end of "this version …". */
  readonly says: string
  readonly cure: string
  /** What besides the default can be honoured. */
  readonly honours?: (value: unknown) => boolean
  /** Once this is refused, nothing else of the same list item is worth a word. */
  readonly settlesItem?: true
}

const LEAVE_OUT = 'Leave it out, or at its default.'

/**
 * What the schema knows and this version cannot do: refused by name, because accepting it in silence would be a lie
 * about timeouts, limits or money. A part that builds one of these deletes its row.
 */
export const NOT_YET: readonly NotYet[] = [
  {
    path: 'upstreams[].wire',
    says: 'serves upstreams of wire chat, responses and demo',
    cure: 'Most providers speak chat as well: use wire: chat. This wire comes with a later version.',
    honours: (wire) => wire === 'chat' || wire === 'responses' || wire === 'demo',
    settlesItem: true,
  },
  {
    path: 'server.trust_proxy',
    says: 'does not look at the addresses of clients',
    cure: 'Leave it out, or empty: a proxy in front is fine without it.',
  },
  { path: 'models[].inputs', says: 'takes text only', cure: 'Write inputs: [text], or leave it out.' },
  { path: 'models[].input_tokens_max', says: 'takes text only', cure: LEAVE_OUT },
  { path: 'models[].price.multipliers', says: 'has no price multipliers', cure: LEAVE_OUT },
  { path: 'limits.model', says: 'limits keys and accounts only', cure: 'Use limits.key or limits.account.' },
  { path: 'limits.account_model', says: 'limits keys and accounts only', cure: 'Use limits.key or limits.account.' },
  { path: 'storage.database', says: 'keeps its books in SQLite only', cure: 'Write sqlite, or leave it out.' },
]

/** Everything that is asked for and cannot be had yet. Keys at their default are always fine. */
export function checkNotYet(tree: LocatedNode): ConfigProblem[] {
  const settled = new Set<string>()
  return NOT_YET.flatMap((row) =>
    written(tree, row.path).flatMap(({ node, path }) => {
      const item = formatPath(path.slice(0, 2))
      if (settled.has(item) || isHonoured(row, path, node)) return []
      if (row.settlesItem) settled.add(item)
      return [{ place: node.place, path: formatPath(path), message: `this version ${row.says}`, cure: row.cure }]
    }),
  )
}

function isHonoured(row: NotYet, path: ConfigPath, node: LocatedNode): boolean {
  const schema = schemaAt(configSchema, path)
  const value = schema?.safeParse(plainOf(node))
  // A value of the wrong shape is refused for that; what is inside a list or a map says enough to be named here as well.
  if (schema === undefined || !value?.success) return node.kind === 'scalar'
  if (row.honours !== undefined) return row.honours(value.data)
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
