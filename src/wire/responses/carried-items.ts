import type { Fields } from '../../lib/is-object.ts'
import { isCallType, isCarriedType, isOutputType, typeOfItem } from './item-types.ts'
import { ownTools } from './own-tools.ts'

type Item = Readonly<Fields>

/**
 * The items of a checked input that go to a model, whatever its lane: those of hosted tools and of one client only are left
 * out, and so are hosted tools that an item adds. The output of a call that is left out goes with it: `local_shell_call`,
 * for one, is answered by a `function_call_output`.
 */
export function carriedItems(items: readonly Item[]): Item[] {
  const called = new Set<unknown>()
  for (const item of items) if (isCallType(typeOfItem(item))) called.add(item.call_id)
  return items.flatMap((item) => {
    const type = typeOfItem(item)
    if (!isCarriedType(type) || (isOutputType(type) && !called.has(item.call_id))) return []
    return type === 'additional_tools' ? withOwnTools(item) : [item]
  })
}

function withOwnTools(item: Item): Item[] {
  const tools = item.tools as Fields[]
  const kept = ownTools(tools).kept.filter((tool) => tool !== undefined)
  if (kept.length === 0) return []
  return kept.length === tools.length && kept.every((tool, at) => tool === tools[at])
    ? [item]
    : [{ ...item, tools: kept }]
}
