import type { Conversation, ToolDefinition } from '../model/conversation.ts'
import { keyOfTool, toolNameOf } from './tool-names.ts'

/** The tools that may be called, for a server that cannot be told so in other words: all where none are named. */
export function allowedTools({ tools, toolChoice }: Conversation): readonly ToolDefinition[] {
  if (toolChoice?.type !== 'allowed') return tools
  const allowed = new Set(toolChoice.tools.map(keyOfTool))
  return tools.filter((tool) => allowed.has(keyOfTool(toolNameOf(tool))))
}
