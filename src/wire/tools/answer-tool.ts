import type { SchemaFormat } from '../../model/conversation.ts'
import type { TurnEvent } from '../../model/event.ts'
import type { EventReader } from '../event-reader.ts'
import { joinedWords } from '../joined-words.ts'
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
  description: joinedWords(['Takes the whole answer: call it once, and say nothing besides.', description]),
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
  /** The last frame gave something. */
  let hasSpoken = false

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
    heard: reader.heard,
    read(frame) {
      const events = reader.read(frame).flatMap(restored)
      hasSpoken = events.length > 0
      return events
    },
    // One piece of words is one piece of words, whatever they are called; but what gave none goes on giving none.
    readAlike: (frames) => (hasSpoken ? reader.readAlike(frames) : undefined),
  }
}
