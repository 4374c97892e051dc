import { type Fields, isObject } from '../../lib/types.ts'
import type { ToolChoice, ToolDefinition, ToolName } from '../../model/conversation.ts'
import type { ToolKind } from '../../model/event.ts'
import { type Problem, problem, type Refused, refused } from '../../model/problem.ts'
import {
  checkEach,
  checkMaybeText,
  checkName,
  checkText,
  checkToken,
  checkValue,
  isAbsent,
  missing,
  shown,
  wrongType,
} from '../fields/check-value.ts'
import { markIn } from '../fields/content-parts.ts'
import type { ParsedBody } from '../shared/codec-types.ts'
import { hostedChoice, rewriteTools, type ToolFate, toolNameOf, WITHOUT_TOOLS } from '../tools/tool-names.ts'

export interface ParsedTools {
  readonly kind: 'tools'
  /** The client's own, of all lists, with names that are unique inside their namespaces. */
  readonly definitions: readonly ToolDefinition[]
  readonly choice: ToolChoice | undefined
  /** Types of the tools that are left out, of all lists. */
  readonly ignored: readonly string[]
  readonly count: number
  /** `tool_choice` as the client wrote it, or what is left of it without hosted tools. */
  readonly choiceValue: unknown
  /** For each tool of `tools`: itself, what is left of it, or undefined. */
  readonly kept: OwnTools['kept']
}

const NO_TOOLS: ParsedTools = {
  kind: 'tools',
  definitions: [],
  choice: undefined,
  ignored: [],
  count: 0,
  choiceValue: undefined,
  kept: [],
}

/** Parses the tools of a request whose items have been checked: the list itself and the tools that items add. */
export function parseTools(value: ParsedBody['value']): ParsedTools | Refused {
  const declared = listsOf(value)
  if (declared.length === 0 && isAbsent(value.tool_choice)) return NO_TOOLS
  const lists: OwnTools[] = []
  const byName = new Map<string, ToolDefinition>()
  for (const { param, tools } of declared) {
    const found = checkTools(param, tools)
    if (found) return refused(found)
    const list = ownTools(tools as Fields[])
    lists.push(list)
    // A later definition of the same tool replaces an earlier one.
    for (const tool of list.definitions) byName.set(JSON.stringify([tool.namespace, tool.name]), tool)
  }
  const definitions = [...byName.values()]
  const ignored = lists.flatMap((list) => list.ignored)
  const choice = parseToolChoice(value.tool_choice, { definitions, ignored })
  if (choice.kind === 'refused') return choice
  return {
    kind: 'tools',
    definitions,
    choice: definitions.length === 0 ? undefined : choice.choice,
    ignored,
    count: lists.reduce((sum, list) => sum + list.count, 0),
    choiceValue: choice.value,
    kept: isAbsent(value.tools) ? [] : (lists[0]?.kept ?? []),
  }
}

function listsOf({ tools, input }: ParsedBody['value']): { param: string; tools: unknown }[] {
  const lists: { param: string; tools: unknown }[] = isAbsent(tools) ? [] : [{ param: 'tools', tools }]
  if (!Array.isArray(input)) return lists
  for (const [index, item] of input.entries()) {
    if (isObject(item) && item.type === 'additional_tools') {
      lists.push({ param: `input[${index}].tools`, tools: item.tools })
    }
  }
  return lists
}

/** The members that change for every lane because hosted tools are left out, as JSON; null removes a member. */
export function rewrittenTools(
  body: ParsedBody,
  { definitions, kept, choiceValue }: ParsedTools,
): Map<string, Buffer | null> {
  const rewritten = new Map<string, Buffer | null>()
  const tools = (body.value.tools as Fields[] | null | undefined) ?? []
  if (kept.some((tool, index) => tool !== tools[index])) {
    if (definitions.length === 0) return new Map(WITHOUT_TOOLS)
    // A tool that stays whole keeps its own bytes.
    const fates = kept.map((tool, index): ToolFate => {
      if (tool === undefined) return 'left-out'
      return tool === tools[index] ? 'kept' : Buffer.from(JSON.stringify(tool))
    })
    rewritten.set('tools', kept.every((tool) => tool === undefined) ? null : rewriteTools(body, fates))
  }
  if (choiceValue !== undefined && choiceValue !== body.value.tool_choice) {
    rewritten.set('tool_choice', Buffer.from(JSON.stringify(choiceValue)))
  }
  return rewritten
}

/** Checks the list of `tools` or of an `additional_tools` item. Hosted and unknown tools only need a type. */
function checkTools(param: string, tools: unknown): Problem | undefined {
  if (isAbsent(tools)) return missing(param)
  if (!Array.isArray(tools)) return wrongType(param, tools, 'an array')
  /** The names of the list so far, with their namespaces. */
  const names = new Set<string>()
  return checkEach(param, tools, (place, tool) => {
    if (!isObject(tool)) return wrongType(place, tool, 'an object')
    const found = checkText(`${place}.type`, tool.type)
    if (found) return found
    return tool.type === 'namespace' ? checkNamespace(place, tool, names) : checkOwn(place, tool, undefined, names)
  })
}

function checkNamespace(param: string, tool: Readonly<Fields>, names: Set<string>): Problem | undefined {
  const { name, description, tools } = tool
  const found = checkName(`${param}.name`, name) ?? checkMaybeText(`${param}.description`, description)
  if (found) return found
  if (isAbsent(tools)) return missing(`${param}.tools`)
  if (!Array.isArray(tools)) return wrongType(`${param}.tools`, tools, 'an array')
  return checkEach(`${param}.tools`, tools, (place, inner) => {
    if (!isObject(inner)) return wrongType(place, inner, 'an object')
    return checkText(`${place}.type`, inner.type) ?? checkOwn(place, inner, name as string, names)
  })
}

const INPUT_FORMATS = new Set(['text', 'grammar'])

function checkOwn(
  param: string,
  tool: Readonly<Fields>,
  namespace: string | undefined,
  names: Set<string>,
): Problem | undefined {
  const { type, name, description, format, parameters, strict } = tool
  if (!isOwn(type)) return undefined
  const found = checkName(`${param}.name`, name) ?? checkMaybeText(`${param}.description`, description)
  if (found) return found
  const wrong =
    type === 'custom'
      ? checkGrammar(`${param}.format`, format)
      : ((isAbsent(parameters) ? undefined : checkValue(`${param}.parameters`, parameters, { kind: 'object' })) ??
        (isAbsent(strict) ? undefined : checkValue(`${param}.strict`, strict, { kind: 'boolean' })))
  if (wrong) return wrong
  const full = JSON.stringify([namespace, name])
  if (names.has(full)) {
    const where = namespace === undefined ? '' : ` of namespace ${shown(namespace)}`
    const message = `The tool ${shown(name as string)}${where} is declared twice. Give each tool a name of its own.`
    return problem('invalid_value', message, { param: `${param}.name` })
  }
  names.add(full)
  return undefined
}

function checkGrammar(param: string, format: unknown): Problem | undefined {
  if (isAbsent(format)) return undefined
  if (!isObject(format)) return wrongType(param, format, 'an object')
  const found = checkToken(`${param}.type`, format.type, INPUT_FORMATS)
  if (found || format.type === 'text') return found
  return checkText(`${param}.syntax`, format.syntax) ?? checkText(`${param}.definition`, format.definition)
}

type ParsedToolChoice =
  | {
      readonly kind: 'choice'
      readonly choice: ToolChoice | undefined
      /** What the client wrote, or what is left of it without hosted tools. */
      readonly value: unknown
    }
  | Refused

/** The client's own tools, and the types of those that were left out. */
interface Declared {
  readonly definitions: readonly ToolDefinition[]
  readonly ignored: readonly string[]
}

const CHOICE_WORDS: ReadonlySet<string> = new Set(['auto', 'none', 'required'])

function parseToolChoice(value: unknown, declared: Declared): ParsedToolChoice {
  const { definitions, ignored } = declared
  if (isAbsent(value)) return { kind: 'choice', choice: undefined, value: undefined }
  if (typeof value === 'string') {
    const found = checkToken('tool_choice', value, CHOICE_WORDS)
    if (found) return refused(found)
    if (value === 'required' && definitions.length === 0) {
      if (ignored.length > 0) return refused(hostedChoice(value))
      const message = '`tool_choice` is "required", and no tools are declared. Declare one, or leave it out.'
      return refused(problem('invalid_value', message, { param: 'tool_choice' }))
    }
    return { kind: 'choice', choice: { type: value as 'auto' | 'none' | 'required' }, value }
  }
  if (!isObject(value)) return refused(wrongType('tool_choice', value, 'a string or an object'))
  const wrong = checkText('tool_choice.type', value.type)
  if (wrong) return refused(wrong)
  if (value.type === 'allowed_tools') return parseAllowed(value, definitions)
  if (!isOwn(value.type)) return refused(hostedChoice(value))
  const found = findTool('tool_choice', value, new ToolIndex(definitions))
  return found.kind === 'refused' ? found : { kind: 'choice', choice: { type: 'tool', ...found.tool }, value }
}

const isOwn = (type: unknown): type is ToolKind => type === 'function' || type === 'custom'

function findTool(
  param: string,
  wanted: Readonly<Fields>,
  tools: ToolIndex,
): { readonly kind: 'found'; readonly tool: ToolName } | Refused {
  const { type, name, namespace } = wanted
  const wrong = checkName(`${param}.name`, name) ?? checkMaybeText(`${param}.namespace`, namespace)
  if (wrong) return refused(wrong)
  const tool = tools.find(type as ToolKind, name as string, (namespace as string | null | undefined) ?? undefined)
  if (tool) return { kind: 'found', tool }
  const message = `\`${param}\` names the ${type} ${shown(name as string)}, which is not among the tools. Declare it, or choose another.`
  return refused(problem('invalid_value', message, { param: 'tool_choice' }))
}

const MODES: ReadonlySet<string> = new Set(['auto', 'required'])

function parseAllowed(value: Readonly<Fields>, definitions: readonly ToolDefinition[]): ParsedToolChoice {
  const { mode, tools } = value
  const found = checkToken('tool_choice.mode', mode, MODES)
  if (found) return refused(found)
  if (isAbsent(tools)) return refused(missing('tool_choice.tools'))
  if (!Array.isArray(tools)) return refused(wrongType('tool_choice.tools', tools, 'an array'))
  if (tools.length === 0) {
    const message = '`tool_choice.tools` is empty. Name the tools that are allowed, or send "none".'
    return refused(problem('invalid_value', message, { param: 'tool_choice.tools' }))
  }
  const index = new ToolIndex(definitions)
  const allowed = new Set<ToolName>()
  const kept: unknown[] = []
  /** A client may name a namespace as often as it likes, so each is expanded once. */
  const expanded = new Set<readonly ToolName[]>()
  for (const [at, wanted] of tools.entries()) {
    const named = parseAllowedTool(`tool_choice.tools[${at}]`, wanted, index)
    if (named.kind === 'refused') return named
    if (named.tools.length > 0) kept.push(wanted)
    if (!expanded.has(named.tools)) for (const tool of named.tools) allowed.add(tool)
    expanded.add(named.tools)
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

/** The tools that an entry names: all of a namespace, or none for a hosted tool. */
function parseAllowedTool(param: string, wanted: unknown, index: ToolIndex): AllowedTools {
  if (!isObject(wanted)) return refused(wrongType(param, wanted, 'an object'))
  const wrong = checkText(`${param}.type`, wanted.type)
  if (wrong) return refused(wrong)
  if (wanted.type === 'namespace') return { kind: 'tools', tools: index.inside(wanted.name) }
  if (!isOwn(wanted.type)) return { kind: 'tools', tools: [] }
  const found = findTool(param, wanted, index)
  return found.kind === 'refused' ? found : { kind: 'tools', tools: [found.tool] }
}

/** The declared tools by name, because a client may declare and name thousands. */
class ToolIndex {
  readonly #exact = new Map<string, ToolName>()
  /** Undefined where several namespaces have the name. */
  readonly #byName = new Map<string, ToolName | undefined>()
  readonly #byNamespace = new Map<unknown, ToolName[]>()

  constructor(definitions: readonly ToolDefinition[]) {
    for (const definition of definitions) {
      const { type, name, namespace } = definition
      const tool = toolNameOf(definition)
      this.#exact.set(JSON.stringify([type, name, namespace]), tool)
      const nameOnly = JSON.stringify([type, name])
      this.#byName.set(nameOnly, this.#byName.has(nameOnly) ? undefined : tool)
      if (namespace === undefined) continue
      const inside = this.#byNamespace.get(namespace)
      if (inside) inside.push(tool)
      else this.#byNamespace.set(namespace, [tool])
    }
  }

  /** A name without a namespace also finds the tool inside one, if it is the only one. */
  find(kind: ToolKind, name: string, namespace: string | undefined): ToolName | undefined {
    const exact = this.#exact.get(JSON.stringify([kind, name, namespace]))
    return exact ?? (namespace === undefined ? this.#byName.get(JSON.stringify([kind, name])) : undefined)
  }

  inside(namespace: unknown): readonly ToolName[] {
    return this.#byNamespace.get(namespace) ?? []
  }
}

/** What one list of checked tools contains: the client's own, and the types of those that are left out. */
interface OwnTools {
  readonly definitions: readonly ToolDefinition[]
  readonly ignored: readonly string[]
  /** For each tool of the list: itself, what is left of it, or undefined. */
  readonly kept: readonly (Fields | undefined)[]
  /** How many there are, with those inside namespaces. */
  readonly count: number
}

export function ownTools(tools: readonly Fields[]): OwnTools {
  const definitions: ToolDefinition[] = []
  const ignored: string[] = []
  const takeOwn = (tool: Fields, namespace: string | undefined): boolean => {
    const definition = definitionOf(tool, namespace)
    if (definition) definitions.push(definition)
    else ignored.push(tool.type as string)
    return definition !== undefined
  }
  const kept: (Fields | undefined)[] = []
  let count = tools.length
  for (const tool of tools) {
    if (tool.type === 'namespace') {
      const inner = tool.tools as Fields[]
      count += inner.length
      const own = inner.filter((each) => takeOwn(each, tool.name as string))
      kept.push(own.length === 0 ? undefined : own.length === inner.length ? tool : { ...tool, tools: own })
    } else kept.push(takeOwn(tool, undefined) ? tool : undefined)
  }
  return { definitions, ignored, kept, count }
}

function definitionOf(tool: Fields, namespace: string | undefined): ToolDefinition | undefined {
  const { type } = tool
  if (!isOwn(type)) return undefined
  const named = {
    name: tool.name as string,
    namespace,
    description: (tool.description as string | null | undefined) ?? undefined,
    ...markIn(tool),
  }
  if (type === 'custom') {
    const format = tool.format as Fields | null | undefined
    const { syntax, definition } = format ?? {}
    const isGrammar = format?.type === 'grammar'
    const grammar = isGrammar ? { syntax: syntax as string, definition: definition as string } : undefined
    return { type, ...named, grammar }
  }
  return {
    type,
    ...named,
    parameters: (tool.parameters as Fields | null | undefined) ?? undefined,
    strict: (tool.strict as boolean | null | undefined) ?? undefined,
  }
}
