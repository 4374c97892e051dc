import { TURN_BYTES } from '../../../http/door/load-guard.ts'
import type { ConfigProblem } from '../config-problem.ts'
import { childOf, type LocatedNode, plainOf } from '../read/located-tree.ts'
import { overloadSchema } from '../schema/overload-schema.ts'
import { boundsSchema } from '../schema/server-schema.ts'

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
