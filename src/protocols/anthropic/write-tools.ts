import { type Fields, isObject } from '../../lib/types.ts'
import type { Conversation, ToolChoice, ToolDefinition, ToolName } from '../../model/conversation.ts'
import { customAsFunction } from '../tools/custom-tools.ts'
import { allowedTools, answerToolFor, type ToolNames, toolNameOf } from '../tools/tool-names.ts'
import type { AnthropicDialect } from './dialects.ts'
import { cacheControl } from './write-messages.ts'

interface WrittenTools {
  readonly fields: { readonly tools?: readonly Fields[]; readonly tool_choice?: Fields }
  /** The model has to call a tool now. */
  readonly isForced: boolean
  /** The tool whose input is the answer. */
  readonly answerTool: string | undefined
}

/** The client's tools, the tool that takes the answer where there is one, and the choice among them. */
export function writeTools(conversation: Conversation, names: ToolNames, lane: ToolsLane): WrittenTools {
  const { format } = lane
  const tools = allowedTools(conversation).map((tool) => writeTool(tool, names, lane))
  const own = uniquelyNamed(tools.length > 0 ? tools : pastTools(conversation, names))
  const choice = tools.length === 0 ? 'none' : choiceOf(conversation.toolChoice)
  // A client that requires a tool call now wants the answer later.
  if (format.kind === 'tool' && (choice === 'auto' || choice === 'none')) {
    return withAnswerTool(own, choice, { names, format })
  }
  if (own.length === 0) return { fields: {}, isForced: false, answerTool: undefined }
  const written = typeof choice === 'string' ? { type: choice } : { type: 'tool', name: names.upstreamName(choice) }
  const isForced = written.type === 'any' || written.type === 'tool'
  const oneAtATime = conversation.parallelToolCalls === false && written.type !== 'none'
  const isUnsaid = written.type === 'auto' && !oneAtATime && conversation.toolChoice === undefined
  const tool_choice = oneAtATime ? { ...written, ...ONE_AT_A_TIME } : written
  return { fields: { tools: own, ...(isUnsaid ? {} : { tool_choice }) }, isForced, answerTool: undefined }
}

interface ToolsLane {
  readonly dialect: AnthropicDialect
  readonly format: FormatPlan
}

const ONE_AT_A_TIME = { disable_parallel_tool_use: true }

function withAnswerTool(
  own: readonly Fields[],
  choice: 'auto' | 'none',
  { names, format }: { names: ToolNames; format: Extract<FormatPlan, { kind: 'tool' }> },
): WrittenTools {
  const { name, description } = answerToolFor(format, names)
  const tools = [...own, { name, description, input_schema: toolSchema(format.schema) }]
  const mayCallOthers = choice === 'auto' && own.length > 0
  const tool_choice = { ...(mayCallOthers ? { type: 'any' } : { type: 'tool', name }), ...ONE_AT_A_TIME }
  return { fields: { tools, tool_choice }, isForced: true, answerTool: name }
}

/** The server wants the tools of past calls declared, even where no tool may be called any more. */
function pastTools({ items }: Conversation, names: ToolNames): Fields[] {
  const calls = items.filter((item) => item.type === 'tool-call')
  return calls.map((call) => ({ name: names.upstreamName(call), input_schema: toolSchema(undefined) }))
}

function uniquelyNamed(tools: readonly Fields[]): Fields[] {
  const byName = new Map<unknown, Fields>()
  for (const tool of tools) if (!byName.has(tool.name)) byName.set(tool.name, tool)
  return [...byName.values()]
}

function writeTool(tool: ToolDefinition, names: ToolNames, { dialect }: ToolsLane): Fields {
  const name = names.upstreamName(toolNameOf(tool))
  const mark = cacheControl(tool.cacheMark)
  if (tool.type === 'custom') {
    const { description, parameters } = customAsFunction(tool)
    return { name, description, input_schema: parameters, ...mark }
  }
  const { description, parameters, strict } = tool
  const input_schema = toolSchema(parameters)
  const canHold = dialect.strictTools && dialect.traits.jsonSchema === 'native' && isHeldAsIs(input_schema)
  return { name, description, input_schema, ...(strict === true && canHold ? { strict } : {}), ...mark }
}

const CHOICES = { auto: 'auto', none: 'none', required: 'any' } as const

function choiceOf(choice: ToolChoice | undefined): 'auto' | 'none' | 'any' | ToolName {
  if (choice === undefined) return 'auto'
  if (choice.type === 'tool') return choice
  return CHOICES[choice.type === 'allowed' ? choice.mode : choice.type]
}

/** The input of a tool is always an object, whose schema says so at its top and has no choices there. */
export function toolSchema(parameters: Fields | undefined): Fields {
  const { $schema, anyOf, oneOf, allOf, required: own, ...schema } = parameters ?? {}
  const all = [{ ...schema, required: own }, ...variantsIn(allOf)]
  const choices = [...variantsIn(anyOf), ...variantsIn(oneOf)]
  const properties = Object.fromEntries(
    [...all, ...choices].flatMap((variant) => Object.entries(propertiesOf(variant))),
  )
  const required = [...new Set([...all.flatMap(requiredOf), ...requiredInEach(choices)])]
  return { ...schema, type: 'object', properties, ...(required.length === 0 ? {} : { required }) }
}

const variantsIn = (variants: unknown): Fields[] => (Array.isArray(variants) ? variants.filter(isObject) : [])
const propertiesOf = ({ properties }: Fields): Fields => (isObject(properties) ? properties : {})
const requiredOf = ({ required }: Fields): string[] =>
  Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []

/** Of several choices, only members that all of them require can be required. */
function requiredInEach([first, ...others]: readonly Fields[]): string[] {
  const wanted = others.map((other) => new Set(requiredOf(other)))
  return first ? requiredOf(first).filter((name) => wanted.every((names) => names.has(name))) : []
}

/** How the model is made to answer in the requested format. */
export type FormatPlan =
  | { readonly kind: 'plain' }
  /** A sentence asks for it. */
  | { readonly kind: 'sentence' }
  /** The server enforces the schema. */
  | { readonly kind: 'held'; readonly schema: Fields }
  /** The model has to call a tool that takes the answer. */
  | { readonly kind: 'tool'; readonly name: string; readonly description: string | undefined; readonly schema: Fields }

export function planFormat({ format }: Conversation, { traits, withoutFields }: AnthropicDialect): FormatPlan {
  if (format === undefined || format.type === 'text') return { kind: 'plain' }
  if (format.type !== 'json_schema' || format.schema === undefined) return { kind: 'sentence' }
  const { name, description, schema } = format
  const holds = traits.jsonSchema === 'native' && !withoutFields.includes('output_config')
  if (holds && (canBeHeld(schema) || !traits.forcedToolChoice)) return { kind: 'held', schema: heldSchema(schema) }
  return { kind: 'tool', name, description, schema }
}

/** The keywords of JSON Schema that the server enforces. The others go into the description, where the model may follow them. */
const TAKEN = new Set([
  ...['type', 'properties', 'required', 'additionalProperties', 'items', 'enum', 'const', 'anyOf', 'allOf'],
  ...['$ref', '$defs', 'definitions', 'title', 'description', 'default'],
])
const FORMATS = new Set([
  ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'],
])
/** Keywords whose members are named by the client. */
const NAMED_SCHEMAS = new Set(['properties', '$defs', 'definitions'])
const SCHEMA_LISTS = new Set(['anyOf', 'allOf'])

/** The schema as the server takes it: every object closed, no keyword that it does not know. */
export function heldSchema(schema: Fields): Fields {
  const held: Fields = {}
  const unknown: string[] = []
  for (const [name, value] of Object.entries(schema)) {
    if (name === '$schema') continue
    if (name === 'oneOf') define(held, 'anyOf', heldMember('anyOf', value))
    else if (isTaken(name, value)) define(held, name, heldMember(name, value))
    else unknown.push(`${name}: ${JSON.stringify(value)}`)
  }
  if (isObjectSchema(schema)) held.additionalProperties = false
  if (unknown.length > 0) {
    const description = typeof schema.description === 'string' ? `${schema.description}\n` : ''
    held.description = `${description}{${unknown.join(', ')}}`
  }
  return held
}

/** The server can enforce it: it cannot enforce maps with arbitrary names. */
export const canBeHeld = (schema: Fields): boolean => !hasOpenMap(schema)

/** The server enforces all of it. */
export const isHeldAsIs = (schema: Fields): boolean =>
  JSON.stringify(sorted(heldSchema(schema))) === JSON.stringify(sorted(schema))

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  const names = Object.keys(value).sort()
  return names.map((name) => [name, sorted(value[name])])
}

const isTaken = (name: string, value: unknown): boolean =>
  TAKEN.has(name) ||
  (name === 'format' && typeof value === 'string' && FORMATS.has(value)) ||
  (name === 'minItems' && (value === 0 || value === 1))

/** A name may be `__proto__`. */
const define = (held: Fields, name: string, value: unknown): void => {
  Object.defineProperty(held, name, { value, enumerable: true, writable: true, configurable: true })
}

function heldMember(name: string, value: unknown): unknown {
  if (name === 'items') return isObject(value) ? heldSchema(value) : value
  if (SCHEMA_LISTS.has(name) && Array.isArray(value))
    return value.map((each) => (isObject(each) ? heldSchema(each) : each))
  if (!NAMED_SCHEMAS.has(name) || !isObject(value)) return value
  const held: Fields = {}
  for (const [own, schema] of Object.entries(value)) define(held, own, isObject(schema) ? heldSchema(schema) : schema)
  return held
}

const isObjectSchema = ({ type, properties }: Fields): boolean =>
  type === 'object' || (Array.isArray(type) && type.includes('object')) || isObject(properties)

function hasOpenMap(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasOpenMap)
  if (!isObject(value)) return false
  const { additionalProperties, properties, patternProperties } = value
  const isMap = isObject(additionalProperties) || isObject(patternProperties)
  const isAnything = value.type === 'object' && !isObject(properties) && additionalProperties !== false
  return isMap || isAnything || Object.values(value).some(hasOpenMap)
}
