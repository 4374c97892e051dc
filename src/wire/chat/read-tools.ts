import { isObject } from '../../lib/is-object.ts'
import { type Problem, problem } from '../../model/problem.ts'
import type { JsonMember } from '../../model/turn.ts'
import { wrongType } from '../fields/check-value.ts'
import { arrayElements } from '../json/array-elements.ts'
import type { ParsedBody } from '../parsed-body.ts'

/**
 * Tools are the client's own to run. One that only a provider could run is left out and named, because coding agents
 * declare some whether they use them or not; forcing it is refused.
 */
export type ReadTools =
  | {
      readonly kind: 'tools'
      readonly ignored: readonly string[]
      readonly rewritten: ReadonlyMap<string, Buffer | null>
    }
  | { readonly kind: 'refused'; readonly problem: Problem }

const OWN_TYPES = new Set(['function', 'custom'])
const NONE: ReadTools = { kind: 'tools', ignored: [], rewritten: new Map() }

export function readTools(body: ParsedBody): ReadTools {
  const { tools, tool_choice: choice } = body.value
  if (tools === undefined || tools === null) return forcesHosted(choice) ? refusedChoice(choice) : NONE
  if (!Array.isArray(tools)) return { kind: 'refused', problem: wrongType('tools', tools, 'an array') }
  for (const [index, tool] of tools.entries()) {
    const found = checkTool(`tools[${index}]`, tool)
    if (found) return { kind: 'refused', problem: found }
  }
  const own = tools.map((tool) => OWN_TYPES.has((tool as { type: string }).type))
  if (forcesHosted(choice) || (choice === 'required' && tools.length > 0 && !own.includes(true)))
    return refusedChoice(choice)
  if (!own.includes(false)) return NONE
  const ignored = tools.flatMap((tool, index) => (own[index] ? [] : [(tool as { type: string }).type]))
  return { kind: 'tools', ignored, rewritten: withoutHosted(body, own) }
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

function refusedChoice(choice: unknown): ReadTools {
  const named = isObject(choice) ? String(choice.type).slice(0, 40) : String(choice)
  const message = `\`tool_choice\` asks for ${JSON.stringify(named)}, and tools that a provider runs are not provided. Define a function and run it yourself, or leave tool_choice out.`
  return { kind: 'refused', problem: problem('unsupported_tool', message, { param: 'tool_choice' }) }
}

/** The client's own tools as their own bytes; without any, the fields that only make sense beside tools go too. */
function withoutHosted(
  { bytes, members }: { readonly bytes: Buffer; readonly members: readonly JsonMember[] },
  own: readonly boolean[],
): Map<string, Buffer | null> {
  if (!own.includes(true))
    return new Map([
      ['tools', null],
      ['tool_choice', null],
      ['parallel_tool_calls', null],
    ])
  const member = members.find(({ name }) => name === 'tools')
  if (!member) throw new Error('A field that was parsed is not among the members')
  const kept = arrayElements(bytes.subarray(member.valueStart, member.valueEnd)).filter((_, index) => own[index])
  return new Map([['tools', Buffer.from(`[${kept.map((element) => element.toString('utf8')).join(',')}]`)]])
}
