import { isObject } from '../../lib/is-object.ts'
import { type Problem, type Refused, refused } from '../../model/problem.ts'
import { checkEach, wrongType } from '../fields/check-value.ts'
import type { ParsedBody } from '../request-reader.ts'
import { hostedChoice, rewriteTools, WITHOUT_TOOLS } from '../tools/hosted-tools.ts'

/** Which tools are the client's own, and go to the provider: `hosted-tools.ts` says why others do not. */
type OwnTools =
  | {
      readonly kind: 'tools'
      readonly ignored: readonly string[]
      readonly rewritten: ReadonlyMap<string, Buffer | null>
    }
  | Refused

const OWN_TYPES = new Set(['function', 'custom'])
const NONE: OwnTools = { kind: 'tools', ignored: [], rewritten: new Map() }

export function ownTools(body: ParsedBody): OwnTools {
  const { tools, tool_choice: choice } = body.value
  if (tools === undefined || tools === null) return forcesHosted(choice) ? refusedChoice(choice) : noneDeclared(body)
  if (!Array.isArray(tools)) return refused(wrongType('tools', tools, 'an array'))
  const wrong = checkEach('tools', tools, checkTool)
  if (wrong) return refused(wrong)
  const own = tools.map((tool) => OWN_TYPES.has((tool as { type: string }).type))
  if (forcesHosted(choice) || (choice === 'required' && tools.length > 0 && !own.includes(true)))
    return refusedChoice(choice)
  if (tools.length === 0) return noneDeclared(body)
  if (!own.includes(false)) return NONE
  const ignored = tools.flatMap((tool, index) => (own[index] ? [] : [(tool as { type: string }).type]))
  if (!own.includes(true)) return { kind: 'tools', ignored, rewritten: WITHOUT_TOOLS }
  const fates = own.map((isOwn) => (isOwn ? 'kept' : 'left-out'))
  return { kind: 'tools', ignored, rewritten: new Map([['tools', rewriteTools(body, fates)]]) }
}

/** Beside no tools these say what is so anyway, and servers refuse them all the same. */
const IDLE_CHOICES: ReadonlySet<unknown> = new Set([undefined, null, 'auto', 'none'])
const IDLE_WITHOUT_TOOLS: OwnTools = {
  kind: 'tools',
  ignored: [],
  rewritten: new Map([...WITHOUT_TOOLS, ['functions', null], ['function_call', null]]),
}

function noneDeclared({ value }: ParsedBody): OwnTools {
  const { functions, function_call, tool_choice } = value
  if (Array.isArray(functions) && functions.length > 0) return NONE
  return IDLE_CHOICES.has(tool_choice) && IDLE_CHOICES.has(function_call) ? IDLE_WITHOUT_TOOLS : NONE
}

function checkTool(param: string, tool: unknown): Problem | undefined {
  if (!isObject(tool)) return wrongType(param, tool, 'an object')
  const { type } = tool
  if (typeof type !== 'string') return wrongType(`${param}.type`, type, 'a string')
  if (!OWN_TYPES.has(type)) return undefined
  const definition = tool[type]
  if (!isObject(definition)) return wrongType(`${param}.${type}`, definition, 'an object')
  return typeof definition.name === 'string'
    ? undefined
    : wrongType(`${param}.${type}.name`, definition.name, 'a string')
}

/** Words and the client's own tools are choices; anything else names a tool that a provider would have to run. */
const forcesHosted = (choice: unknown): boolean =>
  isObject(choice) && typeof choice.type === 'string' && !OWN_TYPES.has(choice.type) && choice.type !== 'allowed_tools'

const refusedChoice = (choice: unknown): OwnTools => refused(hostedChoice(choice))
