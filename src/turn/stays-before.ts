import { type Fields, isObject } from '../lib/is-object.ts'
import { isCallType, isOutputType, typeOfItem } from '../wire/responses/item-types.ts'

interface Conversation {
  readonly items: readonly unknown[]
  /** The same, each as JSON. */
  readonly elements: readonly Buffer[]
  /** How many of them, from the first, were stored here and not sent by the client. */
  readonly previousItems: number
}

/** Of what a user has said before, in a conversation that we have put together: the last of it. */
const USER_BYTES_MAX = 32 * 1024
const ROLES_THAT_STAY: ReadonlySet<unknown> = new Set(['user', 'system', 'developer'])

/**
 * What of a conversation goes to a model beside the compaction that stands at this place, in which all before it was made
 * short: what its user and the system said. What the model said, thought and called goes, but for a call whose result comes
 * later.
 */
export function staysBefore({ items, elements, previousItems }: Conversation, at: number): Buffer[] {
  const answeredLater = new Set(items.slice(at).flatMap((item) => (isOutput(item) ? [item.call_id] : [])))
  const stays: Buffer[] = []
  let room = USER_BYTES_MAX
  for (let index = at - 1; index >= 0; index--) {
    const [item, element] = [items[index], elements[index]]
    if (element === undefined || !mayStay(item, answeredLater)) continue
    // What the client sends itself it keeps on purpose.
    const isBounded = index < previousItems && isObject(item) && item.role === 'user'
    if (isBounded) room -= element.length
    if (!isBounded || room >= 0) stays.push(element)
  }
  return stays.reverse()
}

const isOutput = (item: unknown): item is Fields => isObject(item) && isOutputType(item.type)

function mayStay(item: unknown, answeredLater: ReadonlySet<unknown>): boolean {
  // What is malformed is for who judges items.
  if (!isObject(item)) return true
  const type = typeOfItem(item)
  if (type === 'message') return ROLES_THAT_STAY.has(item.role)
  return type === 'additional_tools' || (isCallType(type) && answeredLater.has(item.call_id))
}
