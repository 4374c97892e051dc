import type { Fields } from '../../lib/types.ts'
import type { RequestBody } from '../../model/turn.ts'
import { arrayElements } from '../json/elements.ts'
import { ABORTED } from '../shared/texts.ts'
import { isCallType, isForwardedType, isOutputType, typeOfItem } from './item-events.ts'
import { ownTools } from './parse-tools.ts'

const QUOTE = 0x22
const OPENING_BRACKET = 0x5b
const SPACE = 0x20

/** The items that a request was sent with. Where a name stands twice the last one counts, as for `JSON.parse`. */
export function elementsOfBody({ bytes, members }: RequestBody): Buffer[] {
  const member = members.findLast(({ name }) => name === 'input')
  return member === undefined ? [] : inputElements(bytes.subarray(member.valueStart, member.valueEnd))
}

/** The items of an input, each as JSON; a plain text is one message of its user. */
export function inputElements(input: Buffer): Buffer[] {
  if (input[0] === QUOTE) return [userMessage(input)]
  return input[0] === OPENING_BRACKET ? arrayElements(input).map(trim) : []
}

const userMessage = (text: Buffer): Buffer =>
  Buffer.concat([Buffer.from('{"type":"message","role":"user","content":'), text, Buffer.from('}')])

/** Without the space around it, so that the same item has the same bytes wherever it stands. */
function trim(element: Buffer): Buffer {
  let start = 0
  let end = element.length
  while (start < end && element[start]! <= SPACE) start++
  while (end > start && element[end - 1]! <= SPACE) end--
  return element.subarray(start, end)
}

type Item = Readonly<Fields>

/**
 * The items of a checked input that go to a model, whatever its lane: those of hosted tools and of one client only are left
 * out, and so are hosted tools that an item adds. The output of a call that is left out goes with it: `local_shell_call`,
 * for one, is answered by a `function_call_output`. A call that was given up before it had an output gets one that says so,
 * because providers refuse a call that nobody has answered.
 */
export function forwardedItems(items: readonly Item[]): Item[] {
  const { called, answered } = pairOutputs(items)
  const carried: Item[] = []
  const givenUp: Item[] = []
  for (const item of items) {
    const type = typeOfItem(item)
    if (!isForwardedType(type) || (isOutputType(type) && !called.has(item.call_id))) continue
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
