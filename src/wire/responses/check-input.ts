import { type Fields, isObject } from '../../lib/is-object.ts'
import { type Problem, problem } from '../../model/problem.ts'
import type { OtherInput } from '../../model/turn.ts'
import { checkEach, checkMaybeText, checkName, checkWord, isAbsent, missing, wrongType } from '../fields/check-value.ts'
import { checkContent } from './check-content.ts'
import { isCallType, isCarriedType, isLeftOutType, isOutputType, typeOfItem } from './item-types.ts'

/** What of an item is not text, by the item: only those that go to a model count. */
export type OthersByItem = Map<unknown, readonly OtherInput[]>

/** The input as far as we must understand it: what each item says. What in it is not text is noted among `others`. */
export function checkInput(input: unknown, others: OthersByItem): Problem | undefined {
  if (isAbsent(input) || input === '') {
    const message = 'The field `input` is missing. Send a text or at least one item.'
    return problem('missing_required_parameter', message, { param: 'input' })
  }
  if (typeof input === 'string') return undefined
  if (!Array.isArray(input)) return wrongType('input', input, 'a string or an array of items')
  if (input.length === 0) {
    return problem('invalid_value', '`input` is empty. Send at least one item.', { param: 'input' })
  }
  const found = checkEach('input', input, (param, item) => {
    const ofItem: OtherInput[] = []
    const wrong = checkItem(param, item, ofItem)
    if (ofItem.length > 0) others.set(item, ofItem)
    return wrong
  })
  return found ?? checkOrphans(input)
}

type CheckItem = (param: string, item: Readonly<Fields>, others: OtherInput[]) => Problem | undefined

const ITEMS: ReadonlyMap<unknown, CheckItem> = new Map<unknown, CheckItem>([
  ['message', checkMessage],
  ['reasoning', checkReasoning],
  ['function_call', (param, item) => checkCall(param, item, 'arguments')],
  ['custom_tool_call', (param, item) => checkCall(param, item, 'input')],
  ['function_call_output', checkOutput],
  ['custom_tool_call_output', checkOutput],
  ['item_reference', referenceLeft],
  ['compaction', (param, item) => checkName(`${param}.encrypted_content`, item.encrypted_content)],
  ['compaction_trigger', triggerBefore],
])

function checkItem(param: string, item: unknown, others: OtherInput[]): Problem | undefined {
  if (!isObject(item)) return wrongType(param, item, 'an object')
  const type = typeOfItem(item)
  if (type === undefined) return missing(`${param}.type`)
  if (typeof type !== 'string') return wrongType(`${param}.type`, type, 'a string')
  const check = ITEMS.get(type)
  if (check !== undefined) return check(param, item, others)
  return isLeftOutType(type) || isCarriedType(type) ? undefined : checkUnknown(param, item, type)
}

const TYPE_SHOWN_MAX = 80

/** An item of an unknown type is left out, but refused if it has a role or content, which the model was meant to read. */
function checkUnknown(param: string, { role, content }: Readonly<Fields>, type: string): Problem | undefined {
  if (isAbsent(role) && isAbsent(content)) return undefined
  const message = `\`${param}\` has a role or content, but an unknown type: ${JSON.stringify(type.slice(0, TYPE_SHOWN_MAX))}. Send it as a \`message\`.`
  return problem('invalid_value', message, { param: `${param}.type` })
}

const ROLES = new Set(['user', 'assistant', 'system', 'developer'])

function checkMessage(param: string, item: Readonly<Fields>, others: OtherInput[]): Problem | undefined {
  const found = checkWord(`${param}.role`, item.role, ROLES)
  if (found) return found
  // An assistant that only called tools has said nothing, and clients send that as null or not at all.
  if (isAbsent(item.content)) return item.role === 'assistant' ? undefined : missing(`${param}.content`)
  return checkContent(`${param}.content`, item.content, item.role === 'user' ? others : undefined)
}

function checkReasoning(param: string, item: Readonly<Fields>): Problem | undefined {
  for (const name of ['summary', 'content']) {
    const found = isAbsent(item[name]) ? undefined : checkContent(`${param}.${name}`, item[name], undefined)
    if (found) return found
  }
  return checkMaybeText(`${param}.encrypted_content`, item.encrypted_content)
}

const CALL_ID_LENGTH_MAX = 64

function checkCallId(param: string, id: unknown): Problem | undefined {
  const found = checkName(param, id)
  if (found || (id as string).length <= CALL_ID_LENGTH_MAX) return found
  const message = `\`${param}\` has ${(id as string).length} characters; at most ${CALL_ID_LENGTH_MAX} are possible.`
  return problem('invalid_value', message, { param })
}

/** A call without arguments may leave them out. */
const checkCall = (param: string, item: Readonly<Fields>, text: string): Problem | undefined =>
  checkCallId(`${param}.call_id`, item.call_id) ??
  checkName(`${param}.name`, item.name) ??
  checkMaybeText(`${param}.namespace`, item.namespace) ??
  checkMaybeText(`${param}.${text}`, item[text])

function checkOutput(param: string, item: Readonly<Fields>, others: OtherInput[]): Problem | undefined {
  const found = checkCallId(`${param}.call_id`, item.call_id)
  if (found) return found
  if (isAbsent(item.output)) return missing(`${param}.output`)
  return checkContent(`${param}.output`, item.output, others)
}

const REFERENCE_SHOWN_MAX = 80

/** What is stored has been put in place of its reference by now. */
function referenceLeft(param: string, { id }: Readonly<Fields>): Problem {
  const named = typeof id === 'string' ? ` ${JSON.stringify(id.slice(0, REFERENCE_SHOWN_MAX))}` : ''
  const message = `The item${named} is not stored here. Send the item itself; clients do so with \`store: false\`.`
  return problem('item_not_found', message, { param: `${param}.id` })
}

/** The last one has done its work by now. */
function triggerBefore(param: string): Problem {
  const message = `\`${param}\` is a compaction_trigger, which has to be the last item of the input.`
  return problem('invalid_value', message, { param })
}

/**
 * An output answers a call: without it, no provider takes it. That may be a call that is left out, and then the output is
 * too. A call without an output is a turn that was broken off.
 */
function checkOrphans(items: readonly Readonly<Fields>[]): Problem | undefined {
  const called = new Set<unknown>()
  for (const item of items) {
    const type = typeOfItem(item)
    if (isCallType(type) || !(isCarriedType(type) || isOutputType(type))) called.add(item.call_id)
  }
  for (const item of items) {
    const type = typeOfItem(item)
    if (type !== 'function_call_output' && type !== 'custom_tool_call_output') continue
    if (called.has(item.call_id)) continue
    const message = `No tool call found for function call output with call_id ${item.call_id}.`
    return problem('invalid_value', message, { param: 'input' })
  }
  return undefined
}
