import { type Fields, isObject } from '../../lib/types.ts'
import type { ToolDefinition } from '../../model/conversation.ts'
import { effortOf } from '../../model/effort.ts'
import { type Problem, problem, refused } from '../../model/problem.ts'
import type { KindBeyondFunctions, OtherInput, ResponsesRequest } from '../../model/turn.ts'
import {
  checkEach,
  checkMaybeText,
  checkName,
  checkText,
  checkToken,
  checkValue,
  isAbsent,
  missing,
  shown,
  wrongType,
} from '../fields/check-value.ts'
import {
  checkFileData,
  checkFileUrl,
  checkImageUrl,
  checkOtherPart,
  noFilesHere,
  notTaken,
  type OtherPart,
  type PartSource,
} from '../fields/content-parts.ts'
import {
  checkFields,
  demandsOf,
  inputSizeOf,
  optionalNames,
  pricedValuesOf,
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
import { type ParsedTools, parseTools, rewrittenTools } from './parse-tools.ts'

/**
 * Reads what admission decides on, and checks everything that a translation relies on. References by id are already replaced by
 * the items themselves.
 */
export function parseRequest(body: ParsedBody, found: FoundInBody): ReadRequestOutcome<ResponsesRequest> {
  const { value } = body
  const wrongFields =
    checkFields(body, RESPONSES_FIELDS, CONTROL_FIELDS) ??
    (isObject(value.metadata) ? checkMetadata(value.metadata) : undefined)
  if (wrongFields) return refused(wrongFields)
  const nested = readNested(body, NESTED_FIELDS)
  if (nested.kind === 'refused') return nested
  const format = isObject(value.text) ? value.text.format : undefined
  const others: OthersByItem = new Map()
  const wrongContent = (isObject(format) ? checkFormat(format) : undefined) ?? checkInput(value.input, others)
  if (wrongContent) return refused(wrongContent)
  const tools = parseTools(value)
  if (tools.kind === 'refused') return tools
  const items: readonly Fields[] | undefined = Array.isArray(value.input) ? value.input : undefined
  const forwarded = items === undefined ? [] : forwardedItems(items)
  if (items !== undefined && !forwarded.some(isNotTools)) return refused(nothingLeft(items))
  const { storable, previousItems, ...known } = found
  const unstorable = value.background === true ? backgroundProblem(value, found) : undefined
  if (unstorable) return refused(unstorable)
  const rewritten = rewrittenMembers(body, tools, forwarded)
  const effort = isObject(value.reasoning) ? value.reasoning.effort : undefined
  const request: ResponsesRequest = {
    protocol: 'responses',
    body: { bytes: body.bytes, members: body.members },
    ...known,
    storedInput: value.store === false ? undefined : storable,
    inBackground: value.background === true,
    model: value.model as string,
    effort: typeof effort === 'string' ? effortOf(effort) : undefined,
    effortParam: 'reasoning.effort',
    delivery: value.stream === true ? 'stream' : 'json',
    outputCap: (value.max_output_tokens as number | null | undefined) ?? undefined,
    outputCapParam: 'max_output_tokens',
    choices: 1,
    inputField: 'input',
    priced:
      value.service_tier === undefined && value.speed === undefined && value.inference_geo === undefined
        ? undefined
        : pricedValuesOf(value),
    demands: demandsOf({ choices: 1, toolChoice: value.tool_choice, format }),
    inputSize: inputSizeOf(body, {
      fields: INPUT_FIELDS,
      rewritten,
      messages: items?.length ?? 1,
      declared: tools.count,
      format,
      hasCalls: tools.count === 0 && items?.some(isCall) === true,
    }),
    // The output of a call that is left out is left out with it, so its images and files do not count.
    otherInputs: others.size === 0 ? [] : forwarded.flatMap((item) => others.get(item) ?? []),
    ignoredTools: tools.ignored,
    toolNames: tools.count + forwarded.filter(isCall).length,
    toolKinds: kindsIn(tools.definitions, forwarded),
    rewritten,
    optionalFields: [
      ...optionalNames(body.members, RESPONSES_FIELDS),
      // An unknown member goes along where its field goes to the provider unchanged.
      ...nested.ignored.filter((name) => RESPONSES_FIELDS[name.split('.', 1)[0]!]?.policy === 'control'),
      ...(items === undefined ? [] : namesOfLeftOut(items, forwarded, previousItems)),
    ],
  }
  return { kind: 'read', request }
}

/** What was found out about a body before it is parsed. */
interface FoundInBody extends Pick<ResponsesRequest, 'sealed' | 'boundTo' | 'compacts' | 'previousResponseId'> {
  /** How many items of the input come from the previous response. */
  readonly previousItems: number
  /** What would be stored of its input; undefined where nothing will be stored. */
  readonly storable: ResponsesRequest['storedInput']
}

/** What runs in the background can only be fetched. */
function backgroundProblem({ store }: Fields, { storable, compacts }: FoundInBody): Problem | undefined {
  const inBackground = (message: string) => problem('unsupported_value', message, { param: 'background' })
  if (store === false) return inBackground('`background` needs `store: true`: the response is fetched by its id.')
  if (compacts !== undefined)
    return inBackground('A compaction does not run in the background: leave `background` out.')
  if (storable === undefined)
    return inBackground('The input has too many items to be stored, which `background` needs: leave it out.')
  return undefined
}

/** A model cannot answer a request that only has tools. */
const isNotTools = (item: Fields): boolean => item.type !== 'additional_tools'

function nothingLeft(items: readonly Fields[]): Problem {
  const types = [...new Set(items.map((item) => shown(String(typeOfItem(item)))))].slice(0, 5).join(', ')
  return invalid(
    'input',
    `No item of \`input\` can be sent to a model (${types}). Send at least one message or tool result.`,
  )
}

/** The items of this request that go to no lane. Those of the previous response were named when they came. */
function namesOfLeftOut(items: readonly Fields[], forwarded: readonly Fields[], previousItems: number): string[] {
  const kept = new Set(forwarded)
  const names: string[] = []
  for (const [at, item] of items.entries()) {
    if (at >= previousItems && !kept.has(item) && isNotTools(item))
      names.push(`input.${at - previousItems}.${String(typeOfItem(item))}`)
  }
  return names
}

function rewrittenMembers(
  body: ParsedBody,
  tools: ParsedTools,
  forwarded: readonly Fields[],
): Map<string, Buffer | null> {
  const { input } = body.value
  const rewritten = rewrittenTools(body, tools)
  if (!Array.isArray(input)) return rewritten
  const items = repairItems(forwarded)
  if (items.length === input.length && items.every((item, at) => item === input[at])) return rewritten
  // Items that stay keep their own bytes, which the provider has seen in earlier turns.
  const elements = elementsOfBody(body)
  const bytesOf = new Map<Fields, Buffer | undefined>(input.map((item, at) => [item, elements[at]]))
  return rewritten.set('input', jsonArray(items.map((item) => bytesOf.get(item) ?? Buffer.from(JSON.stringify(item)))))
}

const INPUT_FIELDS = new Set(['input', 'instructions', 'tools', 'text'])

/** Kinds of tools beyond functions, declared or in the history. */
function kindsIn(tools: readonly ToolDefinition[], items: readonly Fields[]): KindBeyondFunctions[] {
  const isCustom = ({ type }: Fields): boolean => type === 'custom_tool_call' || type === 'custom_tool_call_output'
  const isNamespaced = ({ type, namespace }: Fields): boolean => type === 'additional_tools' || namespace !== undefined
  const kinds: KindBeyondFunctions[] = []
  if (tools.some(({ type }) => type === 'custom') || items.some(isCustom)) kinds.push('custom')
  if (tools.some(({ namespace }) => namespace !== undefined) || items.some(isNamespaced)) kinds.push('namespace')
  return kinds
}

const isCall = (item: unknown): boolean => isObject(item) && isCallType(item.type)

const invalid = (param: string, message: string): Problem => problem('invalid_value', message, { param })

/** The images, files and audio of each item. Only items that go to a model count. */
type OthersByItem = Map<unknown, readonly OtherInput[]>

/** Checks the members of the input that we read, and collects into `others` what is not text. */
function checkInput(input: unknown, others: OthersByItem): Problem | undefined {
  if (isAbsent(input) || input === '') {
    const message = 'The field `input` is missing. Send a text or at least one item.'
    return problem('missing_required_parameter', message, { param: 'input' })
  }
  if (typeof input === 'string') return undefined
  if (!Array.isArray(input)) return wrongType('input', input, 'a string or an array of items')
  if (input.length === 0) return invalid('input', '`input` is empty. Send at least one item.')
  const found = checkEach('input', input, (param, item) => {
    const ofItem: OtherInput[] = []
    const wrong = checkItem(param, item, ofItem)
    if (ofItem.length > 0) others.set(item, ofItem)
    return wrong
  })
  return found ?? checkOrphans(input)
}

const SHOWN_MAX = 80

function checkItem(param: string, item: unknown, others: OtherInput[]): Problem | undefined {
  if (!isObject(item)) return wrongType(param, item, 'an object')
  const type = typeOfItem(item)
  if (type === undefined) return missing(`${param}.type`)
  if (typeof type !== 'string') return wrongType(`${param}.type`, type, 'a string')
  switch (type) {
    case 'message':
      return checkMessage(param, item, others)
    case 'reasoning':
      return checkReasoning(param, item)
    case 'function_call':
      return checkCall(param, item, 'arguments')
    case 'custom_tool_call':
      return checkCall(param, item, 'input')
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const found = checkCallId(`${param}.call_id`, item.call_id)
      if (found) return found
      if (isAbsent(item.output)) return missing(`${param}.output`)
      return checkContent(`${param}.output`, item.output, others)
    }
    case 'item_reference': {
      // The references to stored items are replaced by now.
      const named = typeof item.id === 'string' ? ` ${JSON.stringify(item.id.slice(0, SHOWN_MAX))}` : ''
      const message = `The item${named} is not stored here. Send the item itself; clients do so with \`store: false\`.`
      return problem('item_not_found', message, { param: `${param}.id` })
    }
    case 'compaction':
      return checkName(`${param}.encrypted_content`, item.encrypted_content)
    case 'compaction_trigger':
      // One at the end of the input is removed by now.
      return invalid(param, `\`${param}\` is a compaction_trigger, which has to be the last item of the input.`)
    default: {
      // An item of an unknown type is left out, unless it has a role or content, which the model was meant to read.
      if (isLeftOutType(type) || isForwardedType(type) || (isAbsent(item.role) && isAbsent(item.content)))
        return undefined
      const message = `\`${param}\` has a role or content, but an unknown type: ${JSON.stringify(type.slice(0, SHOWN_MAX))}. Send it as a \`message\`.`
      return invalid(`${param}.type`, message)
    }
  }
}

const ROLES = new Set(['user', 'assistant', 'system', 'developer'])

function checkMessage(param: string, item: Readonly<Fields>, others: OtherInput[]): Problem | undefined {
  const found = checkToken(`${param}.role`, item.role, ROLES)
  if (found) return found
  // Clients send the content of an assistant that only called tools as null or not at all.
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
  return invalid(
    param,
    `\`${param}\` has ${(id as string).length} characters; at most ${CALL_ID_LENGTH_MAX} are allowed.`,
  )
}

/** A call without arguments may leave them out. */
const checkCall = (param: string, item: Readonly<Fields>, text: 'arguments' | 'input'): Problem | undefined =>
  checkCallId(`${param}.call_id`, item.call_id) ??
  checkName(`${param}.name`, item.name) ??
  checkMaybeText(`${param}.namespace`, item.namespace) ??
  checkMaybeText(`${param}.${text}`, item[text])

/**
 * Providers refuse an output without its call. The call may be one that is left out, and then the output is too. A call
 * without an output belongs to a turn that was aborted.
 */
function checkOrphans(items: readonly Readonly<Fields>[]): Problem | undefined {
  const called = new Set<unknown>()
  for (const item of items) {
    const type = typeOfItem(item)
    if (isCallType(type) || !(isForwardedType(type) || isOutputType(type))) called.add(item.call_id)
  }
  const orphan = items.find(({ type, call_id: id }) => isOwnOutput(type) && !called.has(id))
  return orphan && invalid('input', `No tool call found for function call output with call_id ${orphan.call_id}.`)
}

const isOwnOutput = (type: unknown): boolean => type === 'function_call_output' || type === 'custom_tool_call_output'

/** Text parts by any name: clients send an assistant's kind of part in a user's message, and the other way round. */
export const TEXT_PARTS: ReadonlySet<unknown> = new Set([
  'input_text',
  'output_text',
  'text',
  'summary_text',
  'reasoning_text',
])

/** Checks a text, or parts. Parts that are not text are added to `others`; where that is undefined, only text is allowed. */
function checkContent(param: string, content: unknown, others: OtherInput[] | undefined): Problem | undefined {
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) return wrongType(param, content, 'a string or an array of parts')
  return checkEach(param, content, (place, part) => checkPart(place, part, others))
}

function checkPart(param: string, part: unknown, others: OtherInput[] | undefined): Problem | undefined {
  if (!isObject(part)) return wrongType(param, part, 'an object')
  const { type } = part
  const found = checkText(`${param}.type`, type)
  if (found) return found
  if (TEXT_PARTS.has(type)) return checkText(`${param}.text`, part.text)
  if (type === 'refusal') return checkText(`${param}.refusal`, part.refusal)
  const other = OTHER_PARTS.get(type as string)
  return other === undefined ? notTaken(param, type as string) : checkOtherPart(other, param, part, others)
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
  const { file_id: id, file_data: data, file_url: url, filename } = part
  if (!isAbsent(id)) return noFilesHere(`${param}.file_id`, '`file_data` or `file_url`')
  const found = checkMaybeText(`${param}.file_url`, url) ?? checkMaybeText(`${param}.filename`, filename)
  if (found) return found
  if (isAbsent(url)) {
    return checkText(`${param}.file_data`, data) ?? checkFileData(`${param}.file_data`, data as string)
  }
  if (isAbsent(data)) return checkFileUrl(`${param}.file_url`, url as string)
  // It is unknown which of the two a provider would read, and the size limit is for one file.
  return invalid(param, `\`${param}\` has both \`file_data\` and \`file_url\`. Send one of them.`)
}

/** No model takes audio, so the part is only checked for its error message. */
function readAudio(param: string, { input_audio: audio }: Fields): PartSource | Problem {
  if (!isObject(audio)) return wrongType(`${param}.input_audio`, audio, 'an object')
  const found =
    checkText(`${param}.input_audio.data`, audio.data) ?? checkText(`${param}.input_audio.format`, audio.format)
  return found ?? { form: 'text', dataBytes: 0 }
}

const FORMATS = new Set(['text', 'json_object', 'json_schema'])

/** `text.format` is flat, where Chat nests its schema. */
function checkFormat(format: Fields): Problem | undefined {
  const found = checkToken('text.format.type', format.type, FORMATS)
  if (found || format.type !== 'json_schema') return found
  if (isAbsent(format.name) && !isAbsent(format.json_schema)) {
    const message = '`text.format` is nested as Chat Completions nests it. Put name, schema and strict beside type.'
    return problem('missing_required_parameter', message, { param: 'text.format.name' })
  }
  return (
    checkName('text.format.name', format.name) ??
    checkMaybeText('text.format.description', format.description) ??
    checkMaybe('text.format.schema', format.schema, 'object') ??
    checkMaybe('text.format.strict', format.strict, 'boolean')
  )
}

const checkMaybe = (param: string, value: unknown, kind: 'object' | 'boolean'): Problem | undefined =>
  isAbsent(value) ? undefined : checkValue(param, value, { kind })

const PAIRS_MAX = 16
const KEY_LENGTH_MAX = 64
const VALUE_LENGTH_MAX = 512

/** Metadata is bounded because the response repeats it and it is stored with it. */
function checkMetadata(metadata: Fields): Problem | undefined {
  const limit = (what: string, count: number, unit: string, most: number): Problem | undefined =>
    count <= most ? undefined : invalid('metadata', `${what} has ${count} ${unit}; at most ${most} are allowed.`)
  const pairs = Object.entries(metadata)
  const tooMany = limit('`metadata`', pairs.length, 'pairs', PAIRS_MAX)
  if (tooMany) return tooMany
  for (const [key, value] of pairs) {
    const longKey = limit('A key of `metadata`', key.length, 'characters', KEY_LENGTH_MAX)
    if (longKey) return longKey
    if (typeof value !== 'string') return wrongType(`metadata.${key}`, value, 'a string')
    const longValue = limit(`The value of ${shown(key)} in \`metadata\``, value.length, 'characters', VALUE_LENGTH_MAX)
    if (longValue) return longValue
  }
  return undefined
}
