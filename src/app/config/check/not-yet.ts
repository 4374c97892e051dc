import { isDeepStrictEqual } from 'node:util'
import { type ConfigPath, type ConfigProblem, formatPath } from '../config-problem.ts'
import { childOf, type LocatedNode, plainOf } from '../read/located-tree.ts'
import { configSchema } from '../schema/config-schema.ts'
import { schemaAt } from '../schema/schema-at.ts'

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
