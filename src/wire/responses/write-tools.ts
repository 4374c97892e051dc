import type { Fields } from '../../lib/is-object.ts'
import type { ToolChoice, ToolDefinition, ToolName } from '../../model/conversation.ts'
import { customAsFunction } from '../tools/custom-as-function.ts'
import { type ToolNames, toolNameOf } from '../tools/tool-names.ts'
import type { ResponsesDialect } from './dialects.ts'

/** How this lane is told of tools: a kind that it does not know becomes a function under a name of ours. */
export interface ToolWriter {
  readonly isNative: (tool: ToolName) => boolean
  readonly nameOf: (tool: ToolName) => Fields
}

export function toolWriterFor({ nativeTools }: ResponsesDialect, names: Pick<ToolNames, 'upstreamName'>): ToolWriter {
  const isNative = ({ tool, namespace }: ToolName): boolean =>
    (tool === 'function' || nativeTools.includes('custom')) &&
    (namespace === undefined || nativeTools.includes('namespace'))
  return {
    isNative,
    // A plain function goes by its upstream name too: it may have had to make room for a flattened one.
    nameOf: (tool) =>
      isNative(tool) && (tool.namespace !== undefined || tool.tool === 'custom')
        ? { name: tool.name, namespace: tool.namespace }
        : { name: names.upstreamName(tool) },
  }
}

/** Members without a value are not in the JSON. */
export function writeTools(tools: readonly ToolDefinition[], writer: ToolWriter): readonly Fields[] {
  const written: Fields[] = []
  const namespaces = new Map<string, Fields[]>()
  for (const tool of tools) {
    const { namespace } = tool
    const named = toolNameOf(tool)
    if (namespace === undefined || !writer.isNative(named)) {
      written.push(writeTool(tool, named, writer))
      continue
    }
    const inside = namespaces.get(namespace) ?? []
    if (inside.length === 0) {
      written.push({ type: 'namespace', name: namespace, description: namespace, tools: inside })
      namespaces.set(namespace, inside)
    }
    const { namespace: _outside, ...definition } = writeTool(tool, named, writer)
    inside.push(definition)
  }
  return written
}

function writeTool(tool: ToolDefinition, named: ToolName, writer: ToolWriter): Fields {
  const name = writer.nameOf(named)
  if (tool.type === 'function') {
    const { description, parameters = NO_PARAMETERS, strict = false } = tool
    // Absent would mean strict, and not every schema can be.
    return { type: 'function', ...name, description, parameters, strict }
  }
  if (!writer.isNative(named)) return { type: 'function', ...name, ...customAsFunction(tool), strict: false }
  const { description, grammar } = tool
  return { type: 'custom', ...name, description, format: grammar && { type: 'grammar', ...grammar } }
}

const NO_PARAMETERS = { type: 'object', properties: {} }

export function writeToolChoice(choice: ToolChoice, writer: ToolWriter): unknown {
  const typed = (tool: ToolName): Fields => ({
    type: tool.tool === 'custom' && writer.isNative(tool) ? 'custom' : 'function',
    ...writer.nameOf(tool),
  })
  switch (choice.type) {
    case 'tool':
      return typed(choice)
    case 'allowed':
      return { type: 'allowed_tools', mode: choice.mode, tools: choice.tools.map(typed) }
    default:
      return choice.type
  }
}
