import type { Fields } from '../../lib/is-object.ts'
import { ABORTED } from '../made-up-words.ts'
import { isCallType, isCarriedType, isOutputType, typeOfItem } from './item-types.ts'
import { ownTools } from './own-tools.ts'

type Item = Readonly<Fields>

/**
 * The items of a checked input that go to a model, whatever its lane: those of hosted tools and of one client only are left
 * out, and so are hosted tools that an item adds. The output of a call that is left out goes with it: `local_shell_call`,
 * for one, is answered by a `function_call_output`. A call that was given up before it had an output gets one that says so,
 * because providers refuse a call that nobody has answered.
 */
export function carriedItems(items: readonly Item[]): Item[] {
  const { called, answered } = pairOutputs(items)
  const carried: Item[] = []
  const givenUp: Item[] = []
  for (const item of items) {
    const type = typeOfItem(item)
    if (!isCarriedType(type) || (isOutputType(type) && !called.has(item.call_id))) continue
    if (!isCallType(type)) carried.push(...givenUp.splice(0))
    carried.push(...(type === 'additional_tools' ? withOwnTools(item) : [item]))
    if (isCallType(type) && !answered.has(item)) givenUp.push(outputOfGivenUp(item))
  }
  carried.push(...givenUp)
  return carried
}

/** An output belongs to the last call before it with its id, because some providers reuse ids in later turns. */
function pairOutputs(items: readonly Item[]) {
  const called = new Map<unknown, Item>()
  const answered = new Set<Item>()
  const early = new Set<unknown>()
  for (const item of items) {
    const type = typeOfItem(item)
    if (isCallType(type)) {
      called.set(item.call_id, item)
      if (early.delete(item.call_id)) answered.add(item)
    } else if (isOutputType(type)) {
      const call = called.get(item.call_id)
      if (call === undefined) early.add(item.call_id)
      else answered.add(call)
    }
  }
  return { called, answered }
}

/** Behind all calls that were made at once. */
const outputOfGivenUp = ({ type, call_id }: Item): Item => ({ type: `${type}_output`, call_id, output: ABORTED })

function withOwnTools(item: Item): Item[] {
  const tools = item.tools as Fields[]
  const kept = ownTools(tools).kept.filter((tool) => tool !== undefined)
  if (kept.length === 0) return []
  return kept.length === tools.length && kept.every((tool, at) => tool === tools[at])
    ? [item]
    : [{ ...item, tools: kept }]
}
