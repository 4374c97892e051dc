import { type Fields, isObject } from '../../lib/types.ts'
import { type Effort, effortOf } from '../../model/effort.ts'
import { type Problem, problem, type Refused, refused } from '../../model/problem.ts'
import type { ChatRequest, MessageSign, OtherInput } from '../../model/turn.ts'
import {
  checkEach,
  checkMaybeText,
  checkText,
  checkToken,
  integer,
  isAbsent,
  missing,
  number,
  wrongType,
} from '../fields/check-value.ts'
import {
  checkFileData,
  checkImageUrl,
  checkOtherPart,
  noFilesHere,
  notTaken,
  type OtherPart,
  type PartSource,
} from '../fields/content-parts.ts'
import {
  checkFields,
  controlFieldsOf,
  demandsOf,
  type FieldTable,
  inputSizeOf,
  type NestedTable,
  optionalNames,
  pricedValuesOf,
  readNested,
} from '../fields/read-fields.ts'
import { arrayElements, jsonArray, memberBytes } from '../json/bytes.ts'
import { spliceElement } from '../json/scan-json.ts'
import type { ParsedBody, ReadRequestOutcome } from '../shared/codec-types.ts'
import { hostedChoice, rewriteTools, WITHOUT_TOOLS } from '../tools/tool-names.ts'

/** Reads and checks what admission decides on; everything else stays bytes. */
export function parseRequest(body: ParsedBody): ReadRequestOutcome<ChatRequest> {
  const { value } = body
  const others: OtherInput[] = []
  const wrong = checkFields(body, CHAT_FIELDS, CONTROL_FIELDS)
  if (wrong) return refused(wrong)
  const messages = readMessages(value.messages, others)
  if (messages.kind === 'refused') return messages
  const tools = ownTools(body)
  if (tools.kind === 'refused') return tools
  const nested = readNested(body, NESTED_FIELDS)
  if (nested.kind === 'refused') return nested
  const effort = isAbsent(value.reasoning_effort) && isAbsent(value.reasoning) ? NO_EFFORT : readEffort(value)
  if (effort.kind === 'refused') return effort
  const { tool_choice: toolChoice, response_format: format } = value
  const { max_tokens: olderCap, max_completion_tokens: newerCap } = value
  const listed = value.tools as readonly unknown[] | null | undefined
  const functions = value.functions as readonly unknown[] | null | undefined
  const declared = (listed?.length ?? 0) + (functions?.length ?? 0)
  const choices = (value.n as number | null | undefined) ?? 1
  const rewritten = new Map(tools.rewritten)
  if (messages.changes !== undefined) rewritten.set('messages', repairMessages(body, messages.changes))
  const hasCustom =
    messages.hasCustom || listed?.some(isCustom) === true || (isObject(toolChoice) && isCustom(toolChoice))
  return {
    kind: 'read',
    request: {
      protocol: 'chat',
      body: { bytes: body.bytes, members: body.members, hasCacheMarks: body.hasCacheMarks },
      model: value.model as string,
      effort: effort.effort,
      effortParam: effort.param,
      delivery: value.stream === true ? 'stream' : 'json',
      wantsUsage: isObject(value.stream_options) && value.stream_options.include_usage === true,
      functionForm: (functions?.length ?? 0) > 0,
      messageSigns: messages.signs,
      // `max_completion_tokens` is the newer name and wins; each client sends the one that it knows.
      outputCap: (newerCap ?? olderCap ?? undefined) as number | undefined,
      outputCapParam: isAbsent(newerCap) && !isAbsent(olderCap) ? 'max_tokens' : 'max_completion_tokens',
      choices,
      inputField: 'messages',
      priced:
        value.service_tier === undefined && value.speed === undefined && value.inference_geo === undefined
          ? undefined
          : pricedValuesOf(value),
      demands: demandsOf({ choices, stop: value.stop, toolChoice, format }),
      boundTo: undefined,
      compacts: undefined,
      inputSize: inputSizeOf(body, {
        fields: INPUT_FIELDS,
        rewritten,
        messages: messages.count,
        declared,
        format,
        hasCalls: messages.hasCalls,
      }),
      otherInputs: others,
      ignoredTools: tools.ignored,
      toolNames: declared + messages.calls,
      toolKinds: hasCustom ? ['custom'] : [],
      rewritten,
      optionalFields: [...optionalNames(body.members, CHAT_FIELDS), ...nested.ignored],
    },
  }
}

interface ReadEffort {
  readonly kind: 'read'
  readonly effort: Effort | undefined
  readonly param: string
}

const NO_EFFORT: ReadEffort = { kind: 'read', effort: undefined, param: 'reasoning_effort' }

/** The effort may come in two fields; together they must agree. */
function readEffort({ reasoning_effort: outer, reasoning }: ParsedBody['value']): ReadEffort | Refused {
  const inner = isObject(reasoning) ? reasoning.effort : undefined
  const first = isAbsent(outer) ? undefined : effortOf(String(outer))
  const second = isAbsent(inner) ? undefined : effortOf(String(inner))
  if (first !== undefined && second !== undefined && first !== second) {
    const message = `\`reasoning_effort\` is "${first}" and \`reasoning.effort\` is "${second}". Send one of them, or make them agree.`
    return refused(problem('reasoning_effort_conflict', message, { param: 'reasoning.effort' }))
  }
  const param = first === undefined && second !== undefined ? 'reasoning.effort' : 'reasoning_effort'
  return { kind: 'read', effort: first ?? second, param }
}

const INPUT_FIELDS = new Set(['messages', 'tools', 'functions', 'response_format'])

const isCustom = (tool: unknown): boolean => isObject(tool) && (tool.type === 'custom' || isObject(tool.custom))

/** Clients return the messages of answers as they came, those of other providers too. */
const hasAnswerMembers = (message: Fields): boolean =>
  message.reasoning_content !== undefined ||
  message.reasoning !== undefined ||
  message.reasoning_details !== undefined ||
  message.annotations !== undefined ||
  message.refusal !== undefined

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

/** The roles whose messages may have parts that are not text. */
const ROLES_WITH_PARTS = new Set(['user', 'tool', 'function'])
const TEXT_PARTS = new Set(['text', 'refusal'])

interface ReadMessages {
  readonly kind: 'read'
  readonly count: number
  /** How many tool calls they have. */
  readonly calls: number
  /** A message has a list of calls, which may be empty, or a call. */
  readonly hasCalls: boolean
  readonly hasCustom: boolean
  readonly signs: ReadonlySet<MessageSign>
  /** By the index of a message: what some server would refuse in it. Undefined where there is nothing of the kind. */
  readonly changes: ReadonlyMap<number, MessageChanges> | undefined
}

/**
 * Checks roles and content, and reads what else there is to know of the messages, in one pass because there may be thousands.
 * Parts that are not text are collected in `others`.
 */
function readMessages(messages: unknown, others: OtherInput[]): ReadMessages | Refused {
  if (isAbsent(messages)) {
    const message = 'The field `messages` is missing. Send at least one message.'
    return refused(problem('missing_required_parameter', message, { param: 'messages' }))
  }
  if (!Array.isArray(messages)) return refused(wrongType('messages', messages, 'an array'))
  if (messages.length === 0) {
    const message = '`messages` is empty. Send at least one message.'
    return refused(problem('invalid_value', message, { param: 'messages' }))
  }
  let calls = 0
  let hasCalls = false
  let hasCustom = false
  const signs = new Set<MessageSign>()
  let changes: Map<number, MessageChanges> | undefined
  for (let at = 0; at < messages.length; at++) {
    const found = checkMessage(at, messages[at], others)
    if (found) return refused(found)
    const message = messages[at] as Fields
    const { role, name, tool_calls: list, function_call: call } = message
    if (role === 'assistant' || role === 'developer') signs.add(role)
    if (role === 'assistant' && hasAnswerMembers(message)) signs.add('answer')
    if (!isAbsent(name)) signs.add('name')
    if (list !== undefined || message.tool_call_id !== undefined) signs.add('call')
    if (Array.isArray(list)) {
      hasCalls = true
      calls += list.length
      hasCustom ||= list.some(isCustom)
    }
    if (isObject(call)) {
      hasCalls = true
      calls += 1
    }
    const changed = changesOf(message)
    if (changed === undefined) continue
    changes ??= new Map()
    changes.set(at, changed)
  }
  return { kind: 'read', count: messages.length, calls, hasCalls, hasCustom, signs, changes }
}

function checkMessage(at: number, message: unknown, others: OtherInput[]): Problem | undefined {
  // Nearly all messages are valid, so their names are only made for an error.
  if (!isObject(message)) return wrongType(`messages[${at}]`, message, 'an object')
  const { role, content } = message
  if (typeof role !== 'string' || !ROLES.has(role)) {
    const place = `messages[${at}].role`
    if (typeof role === 'string') return checkToken(place, role, ROLES)
    return role === undefined ? missing(place) : wrongType(place, role, 'a string')
  }
  if (typeof content === 'string') return undefined
  const param = `messages[${at}].content`
  if (isAbsent(content)) {
    // Clients send the content of an assistant that only called tools as null, or not at all.
    if (role === 'assistant' || role === 'function') return undefined
    return content === null ? wrongType(param, content, 'a string or an array of parts') : missing(param)
  }
  if (!Array.isArray(content)) return wrongType(param, content, 'a string or an array of parts')
  const othersOfRole = ROLES_WITH_PARTS.has(role) ? others : undefined
  return checkEach(param, content, (place, part) => checkPart(place, part, othersOfRole))
}

/** `others`: undefined where only text is allowed. */
function checkPart(param: string, part: unknown, others: OtherInput[] | undefined): Problem | undefined {
  if (!isObject(part)) return wrongType(param, part, 'an object')
  const { type } = part
  if (typeof type !== 'string') return wrongType(`${param}.type`, type, 'a string')
  const other = OTHER_PARTS.get(type)
  if (other !== undefined) return checkOtherPart(other, param, part, others)
  if (!TEXT_PARTS.has(type)) return notTaken(param, type)
  const text = type === 'refusal' ? part.refusal : part.text
  return typeof text === 'string' ? undefined : wrongType(`${param}.${type}`, text, 'a string')
}

const OTHER_PARTS: ReadonlyMap<string, OtherPart> = new Map<string, OtherPart>([
  ['image_url', { kind: 'image', read: readImage }],
  ['file', { kind: 'file', read: readFile }],
  // No model takes audio, so it is refused whatever it contains.
  ['input_audio', { kind: 'audio', read: () => ({ form: 'text', dataBytes: 0 }) }],
])

/** Some clients leave out the object around the address. */
function readImage(param: string, { image_url: image }: Fields): PartSource | Problem {
  const { url, detail }: Fields = isObject(image) ? image : { url: image }
  const place = isObject(image) ? `${param}.image_url.url` : `${param}.image_url`
  const found = checkMaybeText(`${param}.image_url.detail`, detail) ?? checkText(place, url)
  return found ?? checkImageUrl(place, url as string)
}

function readFile(param: string, { file }: Fields): PartSource | Problem {
  if (!isObject(file)) return wrongType(`${param}.file`, file, 'an object')
  const { file_id: id, file_data: data, filename } = file
  if (!isAbsent(id)) return noFilesHere(`${param}.file.file_id`, '`file_data`')
  const place = `${param}.file.file_data`
  const found = checkMaybeText(`${param}.file.filename`, filename) ?? checkText(place, data)
  return found ?? checkFileData(place, data as string)
}

/** The client's own tools, which go to the provider: `protocols/tools/tool-names.ts` says why others do not. */
type OwnTools =
  | {
      readonly kind: 'tools'
      readonly ignored: readonly string[]
      readonly rewritten: ReadonlyMap<string, Buffer | null>
    }
  | Refused

const OWN_TYPES = new Set(['function', 'custom'])
const AS_THEY_ARE: OwnTools = { kind: 'tools', ignored: [], rewritten: new Map() }

function ownTools(body: ParsedBody): OwnTools {
  const { tool_choice: choice, parallel_tool_calls: parallel, functions, function_call: call } = body.value
  const hasOther = choice !== undefined || parallel !== undefined || functions !== undefined || call !== undefined
  if (body.value.tools === undefined && !hasOther) return AS_THEY_ARE
  const tools = body.value.tools ?? []
  if (!Array.isArray(tools)) return refused(wrongType('tools', tools, 'an array'))
  if (tools.length === 0) {
    if (isObject(choice) && forcesHosted(choice)) return refused(hostedChoice(choice))
    const hasFunctions = Array.isArray(functions) && functions.length > 0
    return !hasFunctions && IDLE_CHOICES.has(choice) && IDLE_CHOICES.has(call) ? IDLE_WITHOUT_TOOLS : AS_THEY_ARE
  }
  const wrong = checkEach('tools', tools, checkTool)
  if (wrong) return refused(wrong)
  const types = tools.map((tool: { readonly type: string }) => tool.type)
  const hasOwn = types.some((type) => OWN_TYPES.has(type))
  if ((isObject(choice) && forcesHosted(choice)) || (choice === 'required' && !hasOwn)) {
    return refused(hostedChoice(choice))
  }
  const ignored = types.filter((type) => !OWN_TYPES.has(type))
  if (ignored.length === 0) return AS_THEY_ARE
  if (!hasOwn) return { kind: 'tools', ignored, rewritten: WITHOUT_TOOLS }
  const fates = types.map((type) => (OWN_TYPES.has(type) ? 'kept' : 'left-out'))
  return { kind: 'tools', ignored, rewritten: new Map([['tools', rewriteTools(body, fates)]]) }
}

/** Without tools these choices change nothing, and servers refuse them all the same. */
const IDLE_CHOICES: ReadonlySet<unknown> = new Set([undefined, null, 'auto', 'none'])
const IDLE_WITHOUT_TOOLS: OwnTools = {
  kind: 'tools',
  ignored: [],
  rewritten: new Map([...WITHOUT_TOOLS, ['functions', null], ['function_call', null]]),
}

function checkTool(param: string, tool: unknown): Problem | undefined {
  if (!isObject(tool)) return wrongType(param, tool, 'an object')
  const { type } = tool
  if (typeof type !== 'string') return wrongType(`${param}.type`, type, 'a string')
  if (!OWN_TYPES.has(type)) return undefined
  const definition = tool[type]
  if (!isObject(definition)) return wrongType(`${param}.${type}`, definition, 'an object')
  return typeof definition.name === 'string'
    ? undefined
    : wrongType(`${param}.${type}.name`, definition.name, 'a string')
}

/** Modes and the client's own tools are choices; anything else names a tool that a provider would have to run. */
const forcesHosted = (choice: Fields): boolean =>
  typeof choice.type === 'string' && !OWN_TYPES.has(choice.type) && choice.type !== 'allowed_tools'

type MessageChanges = ReadonlyMap<string, string | null>

/**
 * Checked messages as every server takes them. Clients send members without a value, and write an assistant message without
 * content in four ways; each server refuses other ones. Only empty values are changed, and only in the messages that have them.
 */
function repairMessages(body: ParsedBody, changes: ReadonlyMap<number, MessageChanges>): Buffer {
  const messages = memberBytes(body, 'messages')
  if (!messages) throw new Error('A field that was parsed is not among the members')
  const written = arrayElements(messages).map((element, at) => {
    const changed = changes.get(at)
    return changed === undefined ? element : spliceElement(element, changed)
  })
  return jsonArray(written)
}

/** Undefined for most messages, which need none. */
function changesOf(message: Fields): MessageChanges | undefined {
  let changes: Map<string, string | null> | undefined
  const change = (name: string, value: string | null) => {
    changes ??= new Map()
    changes.set(name, value)
  }
  for (const name in message) if (message[name] === null && name !== 'content') change(name, null)
  if (message.role !== 'assistant') return changes
  const { content, tool_calls: calls, function_call: call } = message
  if (isEmptyList(calls)) change('tool_calls', null)
  const hasCalls = (Array.isArray(calls) && calls.length > 0) || isObject(call)
  if (hasCalls) {
    if (isEmptyList(content)) change('content', 'null')
  } else if (isAbsent(content) || isEmptyList(content)) change('content', '""')
  return changes
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0

const OUTPUT_CAP = integer(1, Number.MAX_SAFE_INTEGER)

/** The policy for each field of a Chat Completions request: `docs/protocols/chat-fields.md`. */
export const CHAT_FIELDS: FieldTable = {
  model: { policy: 'control', check: { kind: 'string' } },
  messages: { policy: 'passed', check: { kind: 'array' } },
  stream: { policy: 'control', check: { kind: 'boolean' } },
  stream_options: { policy: 'control', check: { kind: 'object' } },
  max_tokens: { policy: 'control', check: OUTPUT_CAP },
  max_completion_tokens: { policy: 'control', check: OUTPUT_CAP },
  reasoning_effort: { policy: 'control', check: { kind: 'string' } },
  reasoning: { policy: 'control', check: { kind: 'object' } },
  n: { policy: 'control', check: integer(1, 128) },
  cache_salt: { policy: 'control' },
  prompt_cache_isolation_key: { policy: 'control' },

  temperature: { policy: 'passed', check: number(0, 2) },
  top_p: { policy: 'passed', check: number(0, 1) },
  presence_penalty: { policy: 'passed', check: number(-2, 2) },
  frequency_penalty: { policy: 'passed', check: number(-2, 2) },
  stop: { policy: 'passed', check: { kind: 'string-or-strings', most: 4 } },
  seed: { policy: 'passed', check: integer(-(2 ** 63), 2 ** 63) },
  logprobs: { policy: 'passed', check: { kind: 'boolean' } },
  top_logprobs: { policy: 'passed', check: integer(0, 20) },
  logit_bias: { policy: 'passed', check: { kind: 'object' } },
  tools: { policy: 'passed', check: { kind: 'array' } },
  tool_choice: { policy: 'passed', check: { kind: 'string-or-object' } },
  parallel_tool_calls: { policy: 'passed', check: { kind: 'boolean' } },
  functions: { policy: 'passed', check: { kind: 'array' } },
  function_call: { policy: 'passed', check: { kind: 'string-or-object' } },
  response_format: { policy: 'passed', check: { kind: 'object' } },
  verbosity: { policy: 'passed', check: { kind: 'string' } },
  user: { policy: 'passed', check: { kind: 'string' } },
  safety_identifier: { policy: 'passed', check: { kind: 'string' } },
  prompt_cache_key: { policy: 'passed', check: { kind: 'string' } },

  modalities: { policy: 'ignored', check: { kind: 'text-only' } },
  store: { policy: 'ignored' },
  metadata: { policy: 'ignored' },
  prediction: { policy: 'ignored' },
  moderation: { policy: 'ignored' },
  prompt_cache_retention: { policy: 'ignored' },
  prompt_cache_options: { policy: 'ignored' },

  service_tier: { policy: 'priced' },
  speed: { policy: 'priced' },
  inference_geo: { policy: 'priced' },
  priority: { policy: 'standard-only' },

  models: { policy: 'refused' },
  plugins: { policy: 'refused' },
  search_parameters: { policy: 'refused' },
  enable_search: { policy: 'refused' },
  web_search_options: { policy: 'refused' },
  audio: { policy: 'refused' },
}

const CONTROL_FIELDS = controlFieldsOf(CHAT_FIELDS)

/** The members of control fields that are objects. They are rewritten, so members that are not listed are dropped. */
const NESTED_FIELDS: NestedTable = {
  reasoning: { effort: { kind: 'string' }, mode: 'standard-only' },
  stream_options: { include_usage: { kind: 'boolean' } },
}
