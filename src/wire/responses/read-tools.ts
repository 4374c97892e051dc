import { type Fields, isObject } from '../../lib/is-object.ts'
import type { ToolChoice, ToolDefinition } from '../../model/conversation.ts'
import { type Refused, refused } from '../../model/problem.ts'
import type { RequestBody } from '../../model/turn.ts'
import { isAbsent } from '../fields/check-value.ts'
import type { ParsedBody } from '../request-reader.ts'
import { rewriteTools, type ToolFate, WITHOUT_TOOLS } from '../tools/hosted-tools.ts'
import { checkTools } from './check-tools.ts'
import { typeOfItem } from './item-types.ts'
import { type OwnTools, ownTools } from './own-tools.ts'
import { readToolChoice } from './read-tool-choice.ts'

export type ReadTools =
  | {
      readonly kind: 'tools'
      /** The client's own, of all lists, with names that are unique inside their namespaces. */
      readonly definitions: readonly ToolDefinition[]
      readonly choice: ToolChoice | undefined
      /** Types of the tools that are left out, of all lists. */
      readonly ignored: readonly string[]
      readonly count: number
      /** What becomes of the members that hosted tools stand in; undefined: the member goes. Empty when nothing changes. */
      readonly changes: ReadonlyMap<string, unknown>
      /** For each tool of `tools`: itself, what is left of it, or undefined. */
      readonly kept: OwnTools['kept']
    }
  | Refused

/** The tools of a request whose items have been checked: the list itself and what items add to it. */
export function readTools(value: ParsedBody['value']): ReadTools {
  const lists: OwnTools[] = []
  for (const { param, tools } of listsOf(value)) {
    const found = checkTools(param, tools)
    if (found) return refused(found)
    lists.push(ownTools(tools as Fields[]))
  }
  const definitions = mergeDefinitions(lists)
  const ignored = lists.flatMap((list) => list.ignored)
  const choice = readToolChoice(value.tool_choice, { definitions, ignored })
  if (choice.kind === 'refused') return choice
  const kept = isAbsent(value.tools) ? [] : (lists[0]?.kept ?? [])
  return {
    kind: 'tools',
    definitions,
    choice: definitions.length === 0 ? undefined : choice.choice,
    ignored,
    count: lists.reduce((sum, list) => sum + list.count, 0),
    changes: changesOf(value, { definitions, kept, choice: choice.value }),
    kept,
  }
}

function listsOf({ tools, input }: ParsedBody['value']): { param: string; tools: unknown }[] {
  const lists: { param: string; tools: unknown }[] = isAbsent(tools) ? [] : [{ param: 'tools', tools }]
  if (!Array.isArray(input)) return lists
  for (const [index, item] of input.entries()) {
    if (!isObject(item) || typeOfItem(item) !== 'additional_tools') continue
    lists.push({ param: `input[${index}].tools`, tools: item.tools })
  }
  return lists
}

/** What is declared again in a later list has changed meanwhile: the last word counts. */
function mergeDefinitions(lists: readonly OwnTools[]): ToolDefinition[] {
  const byName = new Map<string, ToolDefinition>()
  for (const { definitions } of lists)
    for (const tool of definitions) byName.set(JSON.stringify([tool.namespace, tool.name]), tool)
  return [...byName.values()]
}

function changesOf(
  value: ParsedBody['value'],
  left: { definitions: readonly ToolDefinition[]; kept: OwnTools['kept']; choice: unknown },
): Map<string, unknown> {
  const changes = new Map<string, unknown>()
  const tools = isAbsent(value.tools) ? [] : (value.tools as Fields[])
  if (left.kept.some((tool, index) => tool !== tools[index])) {
    const rest = left.kept.filter((tool) => tool !== undefined)
    if (left.definitions.length === 0) for (const name of WITHOUT_TOOLS.keys()) changes.set(name, undefined)
    else changes.set('tools', rest.length === 0 ? undefined : rest)
  }
  if (!changes.has('tool_choice') && left.choice !== undefined && left.choice !== value.tool_choice) {
    changes.set('tool_choice', left.choice)
  }
  return changes
}

/** The members that are written anew for every lane, as bytes: a tool that stays whole keeps its own. */
export function rewrittenTools(
  body: RequestBody,
  tools: readonly Fields[],
  { changes, kept }: Extract<ReadTools, { kind: 'tools' }>,
): Map<string, Buffer | null> {
  const fateOf = (tool: Fields | undefined, index: number): ToolFate =>
    tool === undefined ? 'left-out' : tool === tools[index] ? 'kept' : Buffer.from(JSON.stringify(tool))
  return new Map(
    [...changes].map(([name, changed]) => {
      if (changed === undefined) return [name, null]
      return [name, name === 'tools' ? rewriteTools(body, kept.map(fateOf)) : Buffer.from(JSON.stringify(changed))]
    }),
  )
}
