import type { Fields } from '../../lib/is-object.ts'
import type { ToolChoice, ToolDefinition, ToolName } from '../../model/conversation.ts'
import type { ResponsesDialect } from './dialects.ts'

/** How tools are called on a lane whose server does not know all kinds of them. */
export interface UpstreamNames {
  upstreamName(tool: ToolName): string
}

/** How this lane is told of tools: a kind that it does not know becomes a function under a name of ours. */
export interface ToolWriter {
  readonly isNative: (tool: ToolName) => boolean
  readonly nameOf: (tool: ToolName) => Fields
}

export function toolWriterFor({ nativeTools }: ResponsesDialect, names: UpstreamNames): ToolWriter {
  const isNative = ({ tool, namespace }: ToolName): boolean =>
    (tool === 'function' || nativeTools.includes('custom')) &&
    (namespace === undefined || nativeTools.includes('namespace'))
  return {
    isNative,
    // A plain function goes by its upstream name too: it may have had to make room for a flattened one.
    nameOf: (tool) =>
      isNative(tool) && (tool.namespace !== undefined || tool.tool === 'custom')
        ? { name: tool.name, ...(tool.namespace === undefined ? {} : { namespace: tool.namespace }) }
        : { name: names.upstreamName(tool) },
  }
}

export function writeTools(tools: readonly ToolDefinition[], writer: ToolWriter): readonly Fields[] {
  const written: Fields[] = []
  const namespaces = new Map<string, Fields[]>()
  for (const tool of tools) {
    const { namespace } = tool
    const named = { name: tool.name, namespace, tool: tool.type }
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
    return {
      type: 'function',
      ...name,
      ...(tool.description === undefined ? {} : { description: tool.description }),
      parameters: tool.parameters ?? NO_PARAMETERS,
      // Absent would mean strict, and not every schema can be.
      strict: tool.strict ?? false,
    }
  }
  if (!writer.isNative(named)) {
    return { type: 'function', ...name, description: describe(tool), parameters: TEXT_PARAMETERS, strict: false }
  }
  return {
    type: 'custom',
    ...name,
    ...(tool.description === undefined ? {} : { description: tool.description }),
    ...(tool.grammar === undefined ? {} : { format: { type: 'grammar', ...tool.grammar } }),
  }
}

const NO_PARAMETERS = { type: 'object', properties: {} }
const TEXT_PARAMETERS = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}

function describe({ description, grammar }: Extract<ToolDefinition, { type: 'custom' }>): string {
  const said = description ?? ''
  if (grammar === undefined) return said
  return `${said}\n\nThe string \`input\` follows this ${grammar.syntax} grammar:\n${grammar.definition}`.trimStart()
}

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
