import { isObject } from '../../lib/types.ts'
import type { SchemaFormat } from '../../model/conversation.ts'
import type { TurnEvent } from '../../model/event.ts'
import { type Problem, problem } from '../../model/problem.ts'
import { memberBytes, type RequestBody } from '../../model/turn.ts'
import { arrayElements } from '../json/bytes.ts'
import type { EventReader } from '../shared/codec-types.ts'
import { joinTexts } from '../shared/texts.ts'
import type { ToolNames } from './tool-names.ts'

/** How a tool is told of whose input is the answer, on a lane that knows no other way to have one in a schema. */
interface AnswerTool {
  readonly name: string
  readonly description: string
}

type Named = Pick<SchemaFormat, 'name' | 'description'>

/** The name is the client's; the namespace keeps it apart from the client's own tools. */
export const answerToolFor = ({ name, description }: Named, names: ToolNames): AnswerTool => ({
  name: names.upstreamName({ name, namespace: 'answer', tool: 'function' }),
  description: joinTexts(['Takes the whole answer: call it once, and say nothing besides.', description]),
})

/**
 * For a lane that keeps to a schema only where it is the input of a tool that has to be called: what it writes into that
 * tool is the answer, and the client, which knows no such tool, reads it as text.
 */
export function readAnswerTool(reader: EventReader, answerTool: string): EventReader {
  /** The number of the call that is the answer. */
  let answer: number | undefined
  /** Of the other calls: which number the client knows each by. */
  const numbers = new Map<number, number>()

  const restored = (event: TurnEvent): readonly TurnEvent[] => {
    switch (event.type) {
      case 'tool-call-start':
        if (event.name === answerTool) {
          // There is one answer: what is written into the tool again is neither it nor a call.
          if (answer !== undefined) return []
          answer = event.call
          return [{ type: 'message-start', phase: undefined }]
        }
        numbers.set(event.call, numbers.size)
        return renumbered(event)
      case 'tool-call-delta':
        return event.call === answer ? [{ type: 'text-delta', text: event.text }] : renumbered(event)
      case 'tool-call-end':
        return renumbered(event)
      case 'turn-end':
        return event.reason === 'tool-calls' && numbers.size === 0 ? [{ ...event, reason: 'stop' }] : [event]
      default:
        return [event]
    }
  }
  /** Calls are numbered without gaps. */
  const renumbered = <Call extends { readonly call: number }>(event: Call): Call[] => {
    const call = numbers.get(event.call)
    return call === undefined ? [] : [{ ...event, call }]
  }

  return {
    state: reader.state,
    read: (frame) => reader.read(frame).flatMap(restored),
  }
}

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
