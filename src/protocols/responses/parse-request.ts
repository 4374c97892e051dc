import { type Fields, isObject } from '../../lib/types.ts'
import type { ToolDefinition } from '../../model/conversation.ts'
import { effortOf } from '../../model/effort.ts'
import { type Problem, problem, refused } from '../../model/problem.ts'
import type { InputSize, KindBeyondFunctions, OtherInput, ResponsesRequest, TurnRequest } from '../../model/turn.ts'
import {
  checkEach,
  checkFileData,
  checkFileUrl,
  checkImageUrl,
  checkMaybeText,
  checkName,
  checkNames,
  checkOtherPart,
  checkText,
  checkToken,
  checkValue,
  isAbsent,
  missing,
  noFilesHere,
  notTaken,
  type OtherPart,
  type PartSource,
  shown,
  wrongType,
} from '../fields/check-value.ts'
import { inputBytes, toolsInPrompt } from '../fields/input-size.ts'
import {
  checkModel,
  checkValues,
  demandsOf,
  optionalNames,
  type ReadNested,
  readNested,
} from '../fields/read-fields.ts'
import { jsonArray } from '../json/bytes.ts'
import type { ParsedBody, ReadRequestOutcome } from '../shared/codec-types.ts'
import { CONTROL_FIELDS, NESTED_FIELDS, RESPONSES_FIELDS } from './fields.ts'
import {
  elementsOfBody,
  forwardedItems,
  isCallType,
  isForwardedType,
  isLeftOutType,
  isOutputType,
  repairItems,
  typeOfItem,
} from './input-items.ts'
import { type ReadTools, readTools, rewrittenTools } from './parse-tools.ts'

/**
 * Reads what admission decides on, and checks all that a translation relies on. What the body refers to by id has been put
 * into its input before.
 */
export function parseRequest(body: ParsedBody, found: FoundInBody): ReadRequestOutcome<ResponsesRequest> {
  const { value } = body
  const wrong = checkNames(body.members, CONTROL_FIELDS) ?? checkModel(value.model) ?? checkFields(value)
  if (wrong) return refused(wrong)
  const nested = readNested(body, NESTED_FIELDS)
  if (nested.kind === 'refused') return nested
  const wrongFormat = checkFormat(value.text)
  if (wrongFormat) return refused(wrongFormat)
  const others: OthersByItem = new Map()
  const wrongInput = checkInput(value.input, others)
  if (wrongInput) return refused(wrongInput)
  const tools = readTools(value)
  if (tools.kind === 'refused') return tools
  const items: readonly Fields[] | undefined = Array.isArray(value.input) ? value.input : undefined
  const carried = items === undefined ? [] : forwardedItems(items)
  if (items !== undefined && !carried.some(saysSomething)) return refused(nothingLeft(items))
  const { storable, previousItems, ...known } = found
  const storedInput = value.store === false ? undefined : storable
  const leftOut = items === undefined ? [] : namesOfLeftOut(items, carried, previousItems)
  const request = requestOf(body, { nested, others, tools, carried, leftOut })
  return { kind: 'read', request: { ...request, ...known, storedInput } }
}

/** A model cannot answer to tools alone. */
const saysSomething = (item: Fields): boolean => typeOfItem(item) !== 'additional_tools'

function nothingLeft(items: readonly Fields[]): Problem {
  const types = [...new Set(items.map((item) => String(typeOfItem(item))))].slice(0, 5).join(', ')
  const message = `No item of \`input\` can be sent to a model (${types}). Send at least one message or tool result.`
  return problem('invalid_value', message, { param: 'input' })
}

/** The items of this request that go to no lane. Those of the previous response were named when they came. */
function namesOfLeftOut(items: readonly Fields[], carried: readonly Fields[], previousItems: number): string[] {
  const kept = new Set(carried)
  const names: string[] = []
  for (const [at, item] of items.entries()) {
    if (at >= previousItems && !kept.has(item) && saysSomething(item))
      names.push(`input.${at - previousItems}.${String(typeOfItem(item))}`)
  }
  return names
}

const checkFields = (value: ParsedBody['value']): Problem | undefined =>
  checkValues(value, RESPONSES_FIELDS) ?? checkMetadata(value.metadata)

/** What had to be found out about a body before it could be read. */
interface FoundInBody extends Pick<ResponsesRequest, 'sealed' | 'boundTo' | 'compacts' | 'previousResponseId'> {
  /** How many items of the input come from the previous response. */
  readonly previousItems: number
  /** What would be stored of its input; undefined where nothing will be, whatever it asks for. */
  readonly storable: ResponsesRequest['storedInput']
}

interface Parts {
  readonly nested: Extract<ReadNested, { kind: 'read' }>
  readonly others: OthersByItem
  readonly tools: Extract<ReadTools, { kind: 'tools' }>
  /** The items that go to a model. */
  readonly carried: readonly Fields[]
  /** Those that do not, by their places and types. */
  readonly leftOut: readonly string[]
}

function requestOf(
  body: ParsedBody,
  { nested, others, tools, carried, leftOut }: Parts,
): Omit<ResponsesRequest, keyof FoundInBody | 'storedInput'> {
  const { value } = body
  const rewritten = rewrittenMembers(body, tools, carried)
  const effort = isObject(value.reasoning) ? value.reasoning.effort : undefined
  return {
    protocol: 'responses',
    body: { bytes: body.bytes, members: body.members },
    model: value.model as string,
    effort: typeof effort === 'string' ? effortOf(effort) : undefined,
    effortParam: 'reasoning.effort',
    delivery: value.stream === true ? 'stream' : 'json',
    outputCap: (value.max_output_tokens as number | null | undefined) ?? undefined,
    outputCapParam: 'max_output_tokens',
    choices: 1,
    inputField: 'input',
    demands: demandsOf({ choices: 1, toolChoice: value.tool_choice, format: formatIn(value) }),
    inputSize: sizeOf(body, tools.count, rewritten),
    otherInputs: othersIn(carried, others),
    ignoredTools: tools.ignored,
    toolNames: tools.count + carried.filter(isCall).length,
    toolKinds: kindsIn(tools.definitions, carried),
    rewritten,
    optionalFields: [
      ...optionalNames(body.members, RESPONSES_FIELDS),
      ...nested.ignored.filter(goesNowhere),
      ...leftOut,
    ],
  }
}

/** The output of a call that is left out is left out with it: what is in it is neither read nor paid for. */
const othersIn = (carried: readonly Fields[], others: OthersByItem): readonly OtherInput[] =>
  others.size === 0 ? [] : carried.flatMap((item) => others.get(item) ?? [])

function rewrittenMembers(
  body: ParsedBody,
  tools: Parts['tools'],
  items: readonly Fields[],
): Map<string, Buffer | null> {
  const { tools: declared, input } = body.value
  const rewritten = rewrittenTools(body, (declared as Fields[] | null | undefined) ?? [], tools)
  if (!Array.isArray(input)) return rewritten
  const carried = repairItems(items)
  const isWhole = carried.length === input.length && carried.every((item, at) => item === input[at])
  if (isWhole) return rewritten
  // Items that stay keep their own bytes, which the provider has seen in earlier turns.
  const elements = elementsOfBody(body)
  const bytesOf = new Map<Fields, Buffer | undefined>(input.map((item, at) => [item, elements[at]]))
  const bytes = carried.map((item) => bytesOf.get(item) ?? Buffer.from(JSON.stringify(item)))
  return rewritten.set('input', jsonArray(bytes))
}

/** What is inside a field that goes to the provider as it came goes along. */
const goesNowhere = (name: string): boolean => RESPONSES_FIELDS[name.split('.', 1)[0]!]?.policy === 'control'

const formatIn = ({ text }: ParsedBody['value']): unknown => (isObject(text) ? text.format : undefined)

const INPUT_FIELDS = new Set(['input', 'instructions', 'tools', 'text'])

function sizeOf(body: ParsedBody, declared: number, rewritten: TurnRequest['rewritten']): InputSize {
  const { bytes, value } = body
  const items: readonly unknown[] = Array.isArray(value.input) ? value.input : ['']
  return {
    bodyBytes: bytes.length,
    inputBytes: inputBytes(body, INPUT_FIELDS, rewritten),
    messages: items.length,
    tools: toolsInPrompt({
      declared,
      format: formatIn(value),
      hasCalls: declared === 0 && items.some(isCall),
    }),
  }
}

/** Kinds of tools beyond functions, declared or in the history. */
function kindsIn(tools: readonly ToolDefinition[], items: readonly Fields[]): KindBeyondFunctions[] {
  const hasCustom = tools.some(({ type }) => type === 'custom') || items.some(isCustom)
  const hasNamespace = tools.some(({ namespace }) => namespace !== undefined) || items.some(isNamespaced)
  return [...(hasCustom ? ['custom' as const] : []), ...(hasNamespace ? ['namespace' as const] : [])]
}

const isCustom = ({ type }: Fields): boolean => type === 'custom_tool_call' || type === 'custom_tool_call_output'
const isNamespaced = ({ type, namespace }: Fields): boolean => type === 'additional_tools' || namespace !== undefined

const isCall = (item: unknown): boolean => isObject(item) && isCallType(item.type)

/** What of an item is not text, by the item: only those that go to a model count. */
type OthersByItem = Map<unknown, readonly OtherInput[]>

/** The input as far as we must understand it: what each item says. What in it is not text is noted among `others`. */
function checkInput(input: unknown, others: OthersByItem): Problem | undefined {
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
  return isLeftOutType(type) || isForwardedType(type) ? undefined : checkUnknown(param, item, type)
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
  const found = checkToken(`${param}.role`, item.role, ROLES)
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
    if (isCallType(type) || !(isForwardedType(type) || isOutputType(type))) called.add(item.call_id)
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

/** Text by whatever name: clients send an assistant's kind of part in a user's message, and the other way round. */
export const TEXT_PARTS: ReadonlySet<unknown> = new Set([
  'input_text',
  'output_text',
  'text',
  'summary_text',
  'reasoning_text',
])

/**
 * What an item says: a text, or parts of which those that are not text are noted, for the model to decide. Undefined where
 * only words may stand.
 */
function checkContent(param: string, content: unknown, others: OtherInput[] | undefined): Problem | undefined {
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) return wrongType(param, content, 'a string or an array of parts')
  return checkEach(param, content, (place, part) => checkPart(place, part, others))
}

function checkPart(param: string, part: unknown, others: OtherInput[] | undefined): Problem | undefined {
  if (!isObject(part)) return wrongType(param, part, 'an object')
  const { type } = part
  if (typeof type !== 'string')
    return isAbsent(type) ? missing(`${param}.type`) : wrongType(`${param}.type`, type, 'a string')
  if (TEXT_PARTS.has(type)) return checkText(`${param}.text`, part.text)
  if (type === 'refusal') return checkText(`${param}.refusal`, part.refusal)
  const other = OTHER_PARTS.get(type)
  return other === undefined ? notTaken(param, type) : checkOtherPart(other, param, part, others)
}

const OTHER_PARTS: ReadonlyMap<string, OtherPart> = new Map<string, OtherPart>([
  ['input_image', { kind: 'image', read: readImage }],
  ['input_file', { kind: 'file', read: readFile }],
  ['input_audio', { kind: 'audio', read: readAudio }],
])

function readImage(param: string, { image_url: url, file_id: id, detail }: Fields): PartSource | Problem {
  if (!isAbsent(id)) return noFilesHere(`${param}.file_id`, '`image_url`')
  const found = checkText(`${param}.image_url`, url) ?? checkMaybeText(`${param}.detail`, detail)
  return found ?? checkImageUrl(`${param}.image_url`, url as string)
}

function readFile(param: string, part: Fields): PartSource | Problem {
  const { file_id: id, file_data: data, file_url: url } = part
  if (!isAbsent(id)) return noFilesHere(`${param}.file_id`, '`file_data` or `file_url`')
  for (const name of ['file_url', 'filename']) {
    const found = checkMaybeText(`${param}.${name}`, part[name])
    if (found) return found
  }
  if (isAbsent(url)) {
    return checkText(`${param}.file_data`, data) ?? checkFileData(`${param}.file_data`, data as string)
  }
  if (isAbsent(data)) return checkFileUrl(`${param}.file_url`, url as string)
  // Which of the two a provider would read nobody knows, and one bound is for one file.
  const message = `\`${param}\` has both \`file_data\` and \`file_url\`. Send one of them.`
  return problem('invalid_value', message, { param })
}

/** No model takes it: what is in it is judged for its message only. */
function readAudio(param: string, { input_audio: audio }: Fields): PartSource | Problem {
  if (!isObject(audio)) return wrongType(`${param}.input_audio`, audio, 'an object')
  const found =
    checkText(`${param}.input_audio.data`, audio.data) ?? checkText(`${param}.input_audio.format`, audio.format)
  return found ?? { form: 'text', dataBytes: 0 }
}

const FORMATS = new Set(['text', 'json_object', 'json_schema'])

/** `text.format`: flat, where Chat nests its schema. */
function checkFormat(text: unknown): Problem | undefined {
  const format = isObject(text) ? text.format : undefined
  if (!isObject(format)) return undefined
  const found = checkToken('text.format.type', format.type, FORMATS)
  if (found || format.type !== 'json_schema') return found
  if (isAbsent(format.name) && !isAbsent(format.json_schema)) {
    const message = '`text.format` is nested as Chat Completions nests it. Put name, schema and strict beside type.'
    return problem('missing_required_parameter', message, { param: 'text.format.name' })
  }
  const maybe = (name: string, kind: 'object' | 'boolean') =>
    isAbsent(format[name]) ? undefined : checkValue(`text.format.${name}`, format[name], { kind })
  return (
    checkName('text.format.name', format.name) ??
    checkMaybeText('text.format.description', format.description) ??
    maybe('schema', 'object') ??
    maybe('strict', 'boolean')
  )
}

const PAIRS_MAX = 16
const KEY_LENGTH_MAX = 64
const VALUE_LENGTH_MAX = 512

/** It is repeated in the response and kept with it, so it is bounded. */
function checkMetadata(metadata: unknown): Problem | undefined {
  if (!isObject(metadata)) return undefined
  const pairs = Object.entries(metadata)
  if (pairs.length > PAIRS_MAX)
    return tooMuch(`\`metadata\` has ${pairs.length} pairs; at most ${PAIRS_MAX} are possible.`)
  for (const [key, value] of pairs) {
    if (key.length > KEY_LENGTH_MAX) {
      return tooMuch(`A key of \`metadata\` has ${key.length} characters; at most ${KEY_LENGTH_MAX} are possible.`)
    }
    if (typeof value !== 'string') return wrongType(`metadata.${key}`, value, 'a string')
    if (value.length > VALUE_LENGTH_MAX) {
      return tooMuch(
        `The value of ${shown(key)} in \`metadata\` has ${value.length} characters; at most ${VALUE_LENGTH_MAX} are possible.`,
      )
    }
  }
  return undefined
}

const tooMuch = (message: string): Problem => problem('invalid_value', message, { param: 'metadata' })
