import { isObject } from '../../lib/is-object.ts'
import { type Problem, problem } from '../../model/problem.ts'
import type { RequestBody } from '../../model/turn.ts'
import { memberBytes } from '../../model/turn.ts'
import { arrayElements } from '../json/array-elements.ts'

// Tools are the client's own to run. One that only a provider could run is left out and named, because coding agents
// declare some whether they use them or not; forcing it is refused.

/** The fields that only make sense beside tools: without any, servers refuse them. */
export const WITHOUT_TOOLS: ReadonlyMap<string, null> = new Map([
  ['tools', null],
  ['tool_choice', null],
  ['parallel_tool_calls', null],
])

/** What becomes of one tool: it stays with its own bytes, it is left out, or it is written anew. */
export type ToolFate = 'kept' | 'left-out' | Buffer

/** The client's own tools, as the value of `tools`. */
export function rewriteTools(body: RequestBody, fates: readonly ToolFate[]): Buffer {
  const tools = memberBytes(body, 'tools')
  if (!tools) throw new Error('A field that was parsed is not among the members')
  const written = arrayElements(tools).flatMap((element, index) => {
    const fate = fates[index]!
    return fate === 'left-out' ? [] : [String(fate === 'kept' ? element : fate)]
  })
  return Buffer.from(`[${written.join(',')}]`)
}

/** `tool_choice` asks for what was left out. */
export function hostedChoice(choice: unknown): Problem {
  const named = isObject(choice) ? choice.type : choice
  const message = `\`tool_choice\` asks for ${JSON.stringify(String(named).slice(0, 40))}, and tools that a provider runs are not provided. Define a function and run it yourself, or leave tool_choice out.`
  return problem('unsupported_tool', message, { param: 'tool_choice' })
}
