import { type Fields, isObject } from '../../lib/is-object.ts'
import type { ToolChoice, ToolDefinition, ToolName } from '../../model/conversation.ts'
import type { ToolKind } from '../../model/event.ts'
import { problem, type Refused, refused } from '../../model/problem.ts'
import {
  checkMaybeText,
  checkName,
  checkText,
  checkWord,
  isAbsent,
  missing,
  shown,
  wrongType,
} from '../fields/check-value.ts'
import { hostedChoice } from '../tools/hosted-tools.ts'
import { toolNameOf } from '../tools/tool-names.ts'

type ReadToolChoice =
  | {
      readonly kind: 'choice'
      readonly choice: ToolChoice | undefined
      /** What the client wrote, or what is left of it without hosted tools. */
      readonly value: unknown
    }
  | Refused

/** The tools that there are to choose from: the client's own, and whether any others were left out. */
interface Declared {
  readonly definitions: readonly ToolDefinition[]
  readonly ignored: readonly string[]
}

const WORDS: ReadonlySet<string> = new Set(['auto', 'none', 'required'])

export function readToolChoice(value: unknown, declared: Declared): ReadToolChoice {
  if (isAbsent(value)) return { kind: 'choice', choice: undefined, value: undefined }
  if (typeof value === 'string') return readWord(value, declared)
  if (!isObject(value)) return refused(wrongType('tool_choice', value, 'a string or an object'))
  const wrong = checkText('tool_choice.type', value.type)
  if (wrong) return refused(wrong)
  if (value.type === 'allowed_tools') return readAllowed(value, declared)
  if (!isOwn(value.type)) return refused(hostedChoice(value))
  const found = findTool('tool_choice', value, indexTools(declared.definitions))
  if (found.kind === 'refused') return found
  return { kind: 'choice', choice: { type: 'tool', ...found.tool }, value }
}

const isOwn = (type: unknown): type is ToolKind => type === 'function' || type === 'custom'

function readWord(word: string, { definitions, ignored }: Declared): ReadToolChoice {
  const found = checkWord('tool_choice', word, WORDS)
  if (found) return refused(found)
  if (word === 'required' && definitions.length === 0) {
    if (ignored.length > 0) return refused(hostedChoice(word))
    const message = '`tool_choice` is "required", and no tools are declared. Declare one, or leave it out.'
    return refused(problem('invalid_value', message, { param: 'tool_choice' }))
  }
  return { kind: 'choice', choice: { type: word as 'auto' | 'none' | 'required' }, value: word }
}

type FoundTool = { readonly kind: 'found'; readonly tool: ToolName } | Refused

function findTool(param: string, wanted: Readonly<Fields>, tools: ToolIndex): FoundTool {
  const { type, name, namespace } = wanted
  const wrong = checkName(`${param}.name`, name) ?? checkMaybeText(`${param}.namespace`, namespace)
  if (wrong) return refused(wrong)
  const tool = tools.find(type as ToolKind, name as string, (namespace as string | null | undefined) ?? undefined)
  if (tool) return { kind: 'found', tool }
  const message = `\`${param}\` names the ${type} ${shown(name as string)}, which is not among the tools. Declare it, or choose another.`
  return refused(problem('invalid_value', message, { param: 'tool_choice' }))
}

const MODES: ReadonlySet<string> = new Set(['auto', 'required'])

function readAllowed(value: Readonly<Fields>, declared: Declared): ReadToolChoice {
  const { mode, tools } = value
  const found = checkWord('tool_choice.mode', mode, MODES)
  if (found) return refused(found)
  if (isAbsent(tools)) return refused(missing('tool_choice.tools'))
  if (!Array.isArray(tools)) return refused(wrongType('tool_choice.tools', tools, 'an array'))
  if (tools.length === 0) {
    const message = '`tool_choice.tools` is empty. Name the tools that are allowed, or send "none".'
    return refused(problem('invalid_value', message, { param: 'tool_choice.tools' }))
  }
  const index = indexTools(declared.definitions)
  const allowed = new Set<ToolName>()
  const kept: unknown[] = []
  /** A namespace may be named as often as there are tools in it: it is gone through once. */
  const gathered = new Set<readonly ToolName[]>()
  for (const [at, wanted] of tools.entries()) {
    const named = readAllowedTool(`tool_choice.tools[${at}]`, wanted, index)
    if (named.kind === 'refused') return named
    if (named.tools.length > 0) kept.push(wanted)
    if (!gathered.has(named.tools)) for (const tool of named.tools) allowed.add(tool)
    gathered.add(named.tools)
  }
  if (kept.length > 0) {
    const rest = kept.length === tools.length ? value : { ...value, tools: kept }
    const choice: ToolChoice = { type: 'allowed', mode: mode as 'auto' | 'required', tools: [...allowed] }
    return { kind: 'choice', choice, value: rest }
  }
  if (mode === 'required') return refused(hostedChoice(tools[0]))
  return { kind: 'choice', choice: { type: 'none' }, value: 'none' }
}

type AllowedTools = { readonly kind: 'tools'; readonly tools: readonly ToolName[] } | Refused

/** The tools that an entry stands for: all of a namespace, or none where it names what only a provider could run. */
function readAllowedTool(param: string, wanted: unknown, index: ToolIndex): AllowedTools {
  if (!isObject(wanted)) return refused(wrongType(param, wanted, 'an object'))
  const wrong = checkText(`${param}.type`, wanted.type)
  if (wrong) return refused(wrong)
  if (wanted.type === 'namespace') return { kind: 'tools', tools: index.inside(wanted.name) }
  if (!isOwn(wanted.type)) return { kind: 'tools', tools: [] }
  const found = findTool(param, wanted, index)
  return found.kind === 'refused' ? found : { kind: 'tools', tools: [found.tool] }
}

/** The declared tools by their names: a client may name as many as it declares, so none is searched for. */
interface ToolIndex {
  /** A name without a namespace also finds the tool inside one, if it is the only one. */
  find(kind: ToolKind, name: string, namespace: string | undefined): ToolName | undefined
  inside(namespace: unknown): readonly ToolName[]
}

function indexTools(definitions: readonly ToolDefinition[]): ToolIndex {
  const exact = new Map<string, ToolName>()
  /** Undefined: several namespaces have it. */
  const byName = new Map<string, ToolName | undefined>()
  const byNamespace = new Map<unknown, ToolName[]>()
  for (const definition of definitions) {
    const { type, name, namespace } = definition
    const tool = toolNameOf(definition)
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
