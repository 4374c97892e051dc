import type { Fields } from '../../lib/is-object.ts'
import type { ToolDefinition } from '../../model/conversation.ts'

/** What one list of checked tools has: the client's own, and the types of those that are left out. */
export interface OwnTools {
  readonly definitions: readonly ToolDefinition[]
  readonly ignored: readonly string[]
  /** For each tool of the list: itself, what is left of it, or undefined. */
  readonly kept: readonly (Fields | undefined)[]
  /** How many there are, with those inside namespaces. */
  readonly count: number
}

export function ownTools(tools: readonly Fields[]): OwnTools {
  const own = { definitions: [] as ToolDefinition[], ignored: [] as string[], kept: [] as (Fields | undefined)[] }
  let count = tools.length
  for (const tool of tools) {
    if (tool.type !== 'namespace') {
      const definition = definitionOf(tool, undefined)
      if (definition) own.definitions.push(definition)
      else own.ignored.push(tool.type as string)
      own.kept.push(definition && tool)
      continue
    }
    const inner = namespaceTools(tool)
    count += inner.count
    own.definitions.push(...inner.definitions)
    own.ignored.push(...inner.ignored)
    own.kept.push(inner.kept)
  }
  return { ...own, count }
}

function namespaceTools(namespace: Fields) {
  const tools = namespace.tools as Fields[]
  const kept: Fields[] = []
  const definitions: ToolDefinition[] = []
  const ignored: string[] = []
  for (const tool of tools) {
    const definition = definitionOf(tool, namespace.name as string)
    if (!definition) ignored.push(tool.type as string)
    else {
      definitions.push(definition)
      kept.push(tool)
    }
  }
  const rest = kept.length === tools.length ? namespace : { ...namespace, tools: kept }
  return { definitions, ignored, kept: kept.length === 0 ? undefined : rest, count: tools.length }
}

function definitionOf(tool: Fields, namespace: string | undefined): ToolDefinition | undefined {
  const { type } = tool
  if (type !== 'function' && type !== 'custom') return undefined
  const named = {
    name: tool.name as string,
    namespace,
    description: (tool.description as string | null | undefined) ?? undefined,
  }
  if (type === 'custom') return { type, ...named, grammar: grammarOf(tool.format as Fields | null | undefined) }
  return {
    type,
    ...named,
    parameters: (tool.parameters as Fields | null | undefined) ?? undefined,
    strict: (tool.strict as boolean | null | undefined) ?? undefined,
  }
}

const grammarOf = (format: Fields | null | undefined) =>
  format?.type === 'grammar' ? { syntax: format.syntax as string, definition: format.definition as string } : undefined
