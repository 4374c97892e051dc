import type { Fields } from '../../lib/is-object.ts'
import type { AnswerFormat, Conversation, SchemaFormat, ToolChoice, ToolDefinition } from '../../model/conversation.ts'
import { answerToolFor } from '../tools/answer-tool.ts'
import { customAsFunction } from '../tools/custom-as-function.ts'
import { allowedTools, type ToolNames, toolNameOf } from '../tools/tool-names.ts'
import type { GeminiDialect } from './dialects.ts'

interface WrittenTools {
  readonly fields: Fields
  /** The tool whose input is the answer. */
  readonly answerTool?: string
}

/** The client's tools, what it wants done with them, and the tool that takes the answer where there is one. */
export function writeTools(conversation: Conversation, names: ToolNames, dialect: GeminiDialect): WrittenTools {
  const { toolChoice, format } = conversation
  // Which of them are allowed can only be said where one of them has to be called.
  const canBeSaid = toolChoice?.type === 'allowed' && toolChoice.mode === 'required'
  const tools = canBeSaid ? conversation.tools : allowedTools(conversation)
  const declared = tools.map((tool) => writeTool(tool, names))
  // A client that wants a tool called now wants that, and the answer later.
  if (isBySchema(format) && dialect.traits.jsonSchema === 'tool' && !isForced(toolChoice)) {
    const answer = { ...answerToolFor(format, names), parametersJsonSchema: format.schema }
    const mayCallOthers = declared.length > 0 && toolChoice?.type !== 'none'
    const config = { mode: 'ANY', ...(mayCallOthers ? {} : { allowedFunctionNames: [answer.name] }) }
    return { fields: toolFields([...declared, answer], config), answerTool: answer.name }
  }
  if (declared.length === 0) return { fields: {} }
  return { fields: toolFields(declared, writeChoice(toolChoice, tools, { names, dialect })) }
}

const toolFields = (functionDeclarations: readonly Fields[], functionCallingConfig: Fields | undefined): Fields => ({
  tools: [{ functionDeclarations }],
  ...(functionCallingConfig === undefined ? {} : { toolConfig: { functionCallingConfig } }),
})

const isBySchema = (format: AnswerFormat | undefined): format is SchemaFormat =>
  format?.type === 'json_schema' && format.schema !== undefined

const isForced = (choice: ToolChoice | undefined): boolean =>
  choice?.type === 'required' || choice?.type === 'tool' || (choice?.type === 'allowed' && choice.mode === 'required')

function writeTool(tool: ToolDefinition, names: ToolNames): Fields {
  const name = names.upstreamName(toolNameOf(tool))
  const { description, parameters } = tool.type === 'function' ? tool : customAsFunction(tool)
  // The older field takes a part of OpenAPI only.
  return { name, description, parametersJsonSchema: parameters }
}

interface ChoiceWords {
  readonly names: ToolNames
  readonly dialect: GeminiDialect
}

/** Undefined: the model is free, as it is unasked. */
function writeChoice(
  choice: ToolChoice | undefined,
  declared: readonly ToolDefinition[],
  { names, dialect }: ChoiceWords,
): Fields | undefined {
  const freely = dialect.validatedCalls && declared.some(isStrict) ? 'VALIDATED' : 'AUTO'
  switch (choice?.type) {
    case undefined:
      return freely === 'AUTO' ? undefined : { mode: freely }
    case 'none':
      return { mode: 'NONE' }
    case 'required':
      return { mode: 'ANY' }
    case 'tool':
      return { mode: 'ANY', allowedFunctionNames: [names.upstreamName(choice)] }
    case 'allowed':
      if (choice.mode === 'auto') return { mode: freely }
      return { mode: 'ANY', allowedFunctionNames: choice.tools.map(names.upstreamName) }
    default:
      return { mode: freely }
  }
}

/** Arguments that have to be called for always follow the schema; free ones do where somebody asks for it. */
const isStrict = (tool: ToolDefinition): boolean => tool.type === 'function' && tool.strict === true
