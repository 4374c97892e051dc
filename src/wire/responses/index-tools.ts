import type { ToolDefinition, ToolName } from '../../model/conversation.ts'
import type { ToolKind } from '../../model/event.ts'

/** The declared tools by their names: a client may name as many as it declares, so none is searched for. */
export interface ToolIndex {
  /** A name without a namespace also finds the tool inside one, if it is the only one. */
  find(kind: ToolKind, name: string, namespace: string | undefined): ToolName | undefined
  inside(namespace: unknown): readonly ToolName[]
}

export function indexTools(definitions: readonly ToolDefinition[]): ToolIndex {
  const exact = new Map<string, ToolName>()
  /** Undefined: several namespaces have it. */
  const byName = new Map<string, ToolName | undefined>()
  const byNamespace = new Map<unknown, ToolName[]>()
  for (const { type, name, namespace } of definitions) {
    const tool: ToolName = { name, namespace, tool: type }
    exact.set(keyOf(type, name, namespace), tool)
    const nameOnly = keyOf(type, name)
    byName.set(nameOnly, byName.has(nameOnly) ? undefined : tool)
    if (namespace === undefined) continue
    const inside = byNamespace.get(namespace)
    if (inside) inside.push(tool)
    else byNamespace.set(namespace, [tool])
  }
  return {
    find: (kind, name, namespace) =>
      exact.get(keyOf(kind, name, namespace)) ?? (namespace === undefined ? byName.get(keyOf(kind, name)) : undefined),
    inside: (namespace) => byNamespace.get(namespace) ?? [],
  }
}

const keyOf = (...parts: readonly (string | undefined)[]): string => JSON.stringify(parts)
