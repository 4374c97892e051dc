import { type Fields, isObject } from '../../lib/is-object.ts'
import type { ToolChoice, ToolDefinition, ToolName } from '../../model/conversation.ts'
import { type Problem, problem } from '../../model/problem.ts'
import { wrongType } from '../fields/check-value.ts'
import { hostedChoice } from '../hosted-tools.ts'
import { checkMaybeText, checkName, checkText, checkWord, isAbsent, missing, shown } from './check-member.ts'

export type ReadToolChoice =
  | {
      readonly kind: 'choice'
      readonly choice: ToolChoice | undefined
      /** What the client wrote, or what is left of it without hosted tools. */
      readonly value: unknown
    }
  | { readonly kind: 'refused'; readonly problem: Problem }

/** The tools that there are to choose from: the client's own, and whether any others were left out. */
export interface Declared {
  readonly definitions: readonly ToolDefinition[]
  readonly ignored: readonly string[]
}

const WORDS: ReadonlySet<string> = new Set(['auto', 'none', 'required'])

export function readToolChoice(value: unknown, declared: Declared): ReadToolChoice {
  if (isAbsent(value)) return { kind: 'choice', choice: undefined, value: undefined }
  if (typeof value === 'string') return readWord(value, declared)
  if (!isObject(value)) return refused(wrongType('tool_choice', value, 'a string or an object'))
  const found = checkText('tool_choice.type', value.type)
  if (found) return refused(found)
  if (value.type === 'allowed_tools') return readAllowed(value, declared)
  if (!isOwn(value.type)) return refused(hostedChoice(value))
  const tool = findTool('tool_choice', value, declared)
  return 'code' in tool ? refused(tool) : { kind: 'choice', choice: { type: 'tool', ...tool }, value }
}

const refused = (found: Problem): ReadToolChoice => ({ kind: 'refused', problem: found })

const isOwn = (type: unknown): type is 'function' | 'custom' => type === 'function' || type === 'custom'

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

/** By name, kind and namespace; a name without a namespace also finds the tool inside one, if it is the only one. */
function findTool(param: string, wanted: Readonly<Fields>, { definitions }: Declared): ToolName | Problem {
  const { type, name, namespace } = wanted
  const wrong = checkName(`${param}.name`, name) ?? checkMaybeText(`${param}.namespace`, namespace)
  if (wrong) return wrong
  const alike = definitions.filter((tool) => tool.type === type && tool.name === name)
  const found =
    alike.find((tool) => tool.namespace === (namespace ?? undefined)) ??
    (isAbsent(namespace) && alike.length === 1 ? alike[0] : undefined)
  if (found) return nameOf(found)
  const message = `\`${param}\` names the ${type} ${shown(name as string)}, which is not among the tools. Declare it, or choose another.`
  return problem('invalid_value', message, { param: 'tool_choice' })
}

const nameOf = ({ type, name, namespace }: ToolDefinition): ToolName => ({ name, namespace, tool: type })

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
  const allowed: ToolName[] = []
  const kept: unknown[] = []
  for (const [index, wanted] of tools.entries()) {
    const named = readAllowedTool(`tool_choice.tools[${index}]`, wanted, declared)
    if ('code' in named) return refused(named)
    allowed.push(...named)
    if (named.length > 0) kept.push(wanted)
  }
  if (kept.length > 0) {
    const rest = kept.length === tools.length ? value : { ...value, tools: kept }
    return {
      kind: 'choice',
      choice: { type: 'allowed', mode: mode as 'auto' | 'required', tools: allowed },
      value: rest,
    }
  }
  if (mode === 'required') return refused(hostedChoice(tools[0]))
  return { kind: 'choice', choice: { type: 'none' }, value: 'none' }
}

/** The tools that an entry stands for: all of a namespace, or none where it names what only a provider could run. */
function readAllowedTool(param: string, wanted: unknown, declared: Declared): ToolName[] | Problem {
  if (!isObject(wanted)) return wrongType(param, wanted, 'an object')
  const found = checkText(`${param}.type`, wanted.type)
  if (found) return found
  if (wanted.type === 'namespace') {
    return declared.definitions.filter(({ namespace }) => namespace === wanted.name).map(nameOf)
  }
  if (!isOwn(wanted.type)) return []
  const tool = findTool(param, wanted, declared)
  return 'code' in tool ? tool : [tool]
}
