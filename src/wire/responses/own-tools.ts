import type { Fields } from '../../lib/is-object.ts'
import type { ToolDefinition } from '../../model/conversation.ts'
import { markIn } from '../fields/cache-marks.ts'

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
  const found: Found = { definitions: [], ignored: [] }
  const kept: (Fields | undefined)[] = []
  let count = tools.length
  for (const tool of tools) {
    if (tool.type === 'namespace') {
      const inner = tool.tools as Fields[]
      count += inner.length
      const own = inner.filter((each) => sort(each, tool.name as string, found))
      kept.push(own.length === 0 ? undefined : own.length === inner.length ? tool : { ...tool, tools: own })
    } else kept.push(sort(tool, undefined, found) ? tool : undefined)
  }
  return { ...found, kept, count }
}

interface Found {
  readonly definitions: ToolDefinition[]
  readonly ignored: string[]
}

/** Whether it is the client's own. */
function sort(tool: Fields, namespace: string | undefined, found: Found): boolean {
  const definition = definitionOf(tool, namespace)
  if (definition) found.definitions.push(definition)
  else found.ignored.push(tool.type as string)
  return definition !== undefined
}

function definitionOf(tool: Fields, namespace: string | undefined): ToolDefinition | undefined {
  const { type } = tool
  if (type !== 'function' && type !== 'custom') return undefined
  const named = {
    name: tool.name as string,
    namespace,
    description: (tool.description as string | null | undefined) ?? undefined,
    ...markIn(tool),
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
