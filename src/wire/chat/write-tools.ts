import type { Fields } from '../../lib/is-object.ts'
import type { Conversation, ToolChoice, ToolDefinition, ToolName } from '../../model/conversation.ts'
import { customAsFunction } from '../tools/custom-as-function.ts'
import { allowedTools, type ToolNames, toolNameOf } from '../tools/tool-names.ts'
import type { ChatDialect } from './dialects.ts'

/** The client's tools and what it wants done with them, as the fields of a chat request; none of them without tools. */
export function writeTools(conversation: Conversation, names: ToolNames, dialect: ChatDialect): Fields {
  const { toolChoice, parallelToolCalls } = conversation
  const declared = dialect.allowedTools ? conversation.tools : allowedTools(conversation)
  if (declared.length === 0) return {}
  return {
    tools: declared.map((tool) => writeTool(tool, names, dialect)),
    tool_choice: toolChoice && writeChoice(toolChoice, names, dialect),
    parallel_tool_calls: parallelToolCalls,
  }
}

function writeTool(tool: ToolDefinition, names: ToolNames, dialect: ChatDialect): Fields {
  const name = names.upstreamName(toolNameOf(tool))
  const { description } = tool
  if (tool.type === 'function') {
    return { type: 'function', function: { name, description, parameters: tool.parameters, strict: tool.strict } }
  }
  if (!dialect.customTools) return { type: 'function', function: { name, ...customAsFunction(tool) } }
  return {
    type: 'custom',
    custom: { name, description, format: tool.grammar && { type: 'grammar', grammar: tool.grammar } },
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
