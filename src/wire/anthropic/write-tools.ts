import { type Fields, isObject } from '../../lib/is-object.ts'
import type { Conversation, ToolChoice, ToolDefinition, ToolName } from '../../model/conversation.ts'
import { answerToolFor } from '../tools/answer-tool.ts'
import { customAsFunction } from '../tools/custom-as-function.ts'
import { allowedTools, type ToolNames, toolNameOf } from '../tools/tool-names.ts'
import type { AnthropicDialect } from './dialects.ts'
import { type FormatPlan, isHeldAsIs } from './plan-format.ts'
import { cacheControl } from './write-parts.ts'

interface WrittenTools {
  readonly fields: { readonly tools?: readonly Fields[]; readonly tool_choice?: Fields }
  /** The model has to call one now. */
  readonly isForced: boolean
  /** The tool whose input is the answer. */
  readonly answerTool: string | undefined
}

/** The client's tools, the one that takes the answer where there is one, and what is to be done with them. */
export function writeTools(conversation: Conversation, names: ToolNames, lane: ToolsLane): WrittenTools {
  const { format } = lane
  const tools = allowedTools(conversation).map((tool) => writeTool(tool, names, lane))
  const own = uniquelyNamed(tools.length > 0 ? tools : pastTools(conversation, names))
  const choice = tools.length === 0 ? 'none' : choiceOf(conversation.toolChoice)
  // A client that wants a tool called now wants that, and the answer later.
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

/** Calls in the past want their tools declared, though none is to be called any more. */
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

/** Of several choices only what all of them want can be wanted. */
function requiredInEach([first, ...others]: readonly Fields[]): string[] {
  const wanted = others.map((other) => new Set(requiredOf(other)))
  return first ? requiredOf(first).filter((name) => wanted.every((names) => names.has(name))) : []
}
