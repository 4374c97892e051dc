import type { Fields } from '../../lib/is-object.ts'
import type { Conversation, ToolChoice, ToolDefinition, ToolName } from '../../model/conversation.ts'
import { type ToolNames, toolNameOf } from '../tool-names.ts'
import type { ChatDialect } from './dialects.ts'

/** The client's tools and what it wants done with them, as the fields of a chat request; none of them without tools. */
export function writeTools(conversation: Conversation, names: ToolNames, dialect: ChatDialect): Fields {
  const { toolChoice, parallelToolCalls } = conversation
  const declared = declaredTools(conversation, dialect)
  if (declared.length === 0) return {}
  return {
    tools: declared.map((tool) => writeTool(tool, names, dialect)),
    tool_choice: toolChoice && writeChoice(toolChoice, names, dialect),
    parallel_tool_calls: parallelToolCalls,
  }
}

/** Where a server cannot be told which tools are allowed, it gets only those. */
function declaredTools({ tools, toolChoice }: Conversation, dialect: ChatDialect): readonly ToolDefinition[] {
  if (toolChoice?.type !== 'allowed' || dialect.allowedTools) return tools
  return tools.filter((tool) => toolChoice.tools.some((allowed) => isSame(allowed, toolNameOf(tool))))
}

const isSame = (one: ToolName, other: ToolName): boolean =>
  one.name === other.name && one.namespace === other.namespace && one.tool === other.tool

function writeTool(tool: ToolDefinition, names: ToolNames, dialect: ChatDialect): Fields {
  const name = names.upstreamName(toolNameOf(tool))
  const { description } = tool
  if (tool.type === 'function') {
    return { type: 'function', function: { name, description, parameters: tool.parameters, strict: tool.strict } }
  }
  if (!dialect.customTools) return asFunction(tool, name)
  return {
    type: 'custom',
    custom: { name, description, format: tool.grammar && { type: 'grammar', grammar: tool.grammar } },
  }
}

/** A grammar that nobody enforces is at least told to the model. */
function asFunction({ description, grammar }: Extract<ToolDefinition, { type: 'custom' }>, name: string): Fields {
  const rule = grammar && `The input must match this ${grammar.syntax} grammar:\n${grammar.definition}`
  const told = [description, rule].filter((text) => text !== undefined && text !== '').join('\n\n')
  const input = { type: 'string', description: 'The whole input of the tool, as plain text.' }
  return {
    type: 'function',
    function: {
      name,
      description: told === '' ? undefined : told,
      parameters: { type: 'object', properties: { input }, required: ['input'], additionalProperties: false },
    },
  }
}

function writeChoice(choice: ToolChoice, names: ToolNames, dialect: ChatDialect): unknown {
  switch (choice.type) {
    case 'tool':
      return writeName(choice, names, dialect)
    case 'allowed':
      if (!dialect.allowedTools) return choice.mode
      return {
        type: 'allowed_tools',
        allowed_tools: { mode: choice.mode, tools: choice.tools.map((tool) => writeName(tool, names, dialect)) },
      }
    default:
      return choice.type
  }
}

function writeName(tool: ToolName, names: ToolNames, dialect: ChatDialect): Fields {
  const type = tool.tool === 'custom' && dialect.customTools ? 'custom' : 'function'
  return { type, [type]: { name: names.upstreamName(tool) } }
}
