import type { ToolName } from '../../model/conversation.ts'
import type { CallStart, TurnEvent } from '../../model/event.ts'
import { JsonProgress } from '../json/syntax.ts'
import type { EventReader } from '../shared/codec-types.ts'
import type { StreamState } from '../shared/stream-state.ts'
import { createInputDecoder, type InputDecoder } from './custom-tools.ts'
import { BROKEN_ARGUMENTS, type ToolNames } from './tool-names.ts'

/**
 * Gives the tools of an answer the names and kinds that the client declared, and checks what every client relies on: the
 * arguments of a function are JSON.
 */
export const restoreTools = (reader: EventReader, names: ToolNames): EventReader => new RestoringReader(reader, names)

class RestoringReader implements EventReader {
  /** The reader's own. What is corrected here is taken back before it reads on, because it may add to its counts. */
  readonly state: StreamState
  readonly #reader: EventReader
  readonly #names: ToolNames
  readonly #decoders = new Map<number, InputDecoder>()
  /** The arguments of functions so far. */
  readonly #calls = new Map<number, JsonProgress>()
  #lastCall = -1
  /** The answer is truncated in this frame, so a call without arguments may have lost them. */
  #isTruncated = false
  /** Bytes of empty arguments that we added. */
  #addedBytes = 0
  #heldBytes = 0
  #hasFailed = false

  constructor(reader: EventReader, names: ToolNames) {
    this.state = reader.state
    this.#reader = reader
    this.#names = names
  }

  /** Nothing in a plain text depends on tools; the reader says where a frame had nothing else. */
  get repeatText() {
    return this.#reader.repeatText
  }

  read(frame: Buffer): readonly TurnEvent[] {
    const { state } = this
    state.outputBytes -= this.#addedBytes
    state.heldBytes -= this.#heldBytes
    const received = this.#reader.read(frame)
    const events = this.#lastCall === -1 && received.every(isText) ? received : this.#restoreAll(received)
    this.#heldBytes = 0
    for (const decoder of this.#decoders.values()) this.#heldBytes += decoder.heldBytes()
    state.outputBytes += this.#addedBytes
    state.heldBytes += this.#heldBytes
    return events
  }

  #restoreAll(received: readonly TurnEvent[]): TurnEvent[] {
    const events: TurnEvent[] = []
    this.#isTruncated = false
    for (const event of received) {
      if (event.type === 'tool-call-start') this.#lastCall = event.call
      else if (event.type === 'turn-end') this.#isTruncated = event.reason !== 'stop' && event.reason !== 'tool-calls'
    }
    for (const event of received) if (!this.#hasFailed) this.#restore(event, events)
    // Nothing of a frame whose arguments are broken: another lane may answer instead.
    return this.#hasFailed ? [] : events
  }

  #restore(event: TurnEvent, events: TurnEvent[]): void {
    switch (event.type) {
      case 'tool-call-start':
        events.push(this.#startCall(event))
        break
      case 'tool-call-delta': {
        const decoder = this.#decoders.get(event.call)
        if (decoder !== undefined) {
          pushDelta(event.call, decoder.push(event.text), events)
          break
        }
        const progress = this.#calls.get(event.call)
        progress?.feed(event.text)
        if (progress?.state === 'broken') this.#fail()
        else events.push(event)
        break
      }
      case 'tool-call-end': {
        pushDelta(event.call, this.#decoders.get(event.call)?.end() ?? '', events)
        this.#decoders.delete(event.call)
        const progress = this.#calls.get(event.call)
        // Clients parse the arguments, and an empty string is not JSON.
        if (!this.#mayBeTruncated(event.call) && progress?.state === 'empty') {
          progress.feed('{}')
          this.#addedBytes += 2
          pushDelta(event.call, '{}', events)
        }
        events.push(event)
        break
      }
      case 'turn-end':
        if ([...this.#calls].some(([call, progress]) => isNotWhole(progress) && !this.#mayBeTruncated(call)))
          this.#fail()
        else events.push(event)
        break
      default:
        events.push(event)
    }
  }

  #fail(): void {
    this.#hasFailed = true
    this.state.invalid = BROKEN_ARGUMENTS
    this.state.finished = false
  }

  /** In a truncated answer the last call may be truncated too. */
  #mayBeTruncated(call: number): boolean {
    return this.#isTruncated && call === this.#lastCall
  }

  #startCall(event: CallStart): CallStart {
    const known = this.#names.clientName(event.name, event.namespace)
    const call = known === undefined ? event : renamed(event, known)
    if (call.tool === 'custom' && event.tool === 'function') this.#decoders.set(event.call, createInputDecoder())
    if (call.tool === 'function') this.#calls.set(event.call, new JsonProgress())
    return call
  }
}

/** Nearly all events: nothing in them depends on tools. */
const isText = ({ type }: TurnEvent): boolean => type === 'text-delta' || type === 'reasoning-delta'

const isNotWhole = ({ state }: JsonProgress): boolean => state === 'incomplete' || state === 'broken'

/** A tool that the lane gave as a custom one is one, whatever the client declared. */
const renamed = (event: CallStart, { name, namespace, tool }: ToolName): CallStart => ({
  ...event,
  name,
  namespace,
  tool: event.tool === 'custom' ? 'custom' : tool,
})

function pushDelta(call: number, text: string, events: TurnEvent[]): void {
  if (text !== '') events.push({ type: 'tool-call-delta', call, text })
}

/**
 * For a lane that enforces a schema only on the input of a tool: the input of `answerTool` is the answer, and the client,
 * which does not know that tool, gets it as text.
 */
export function readAnswerTool(reader: EventReader, answerTool: string): EventReader {
  /** The number of the call that is the answer. */
  let answer: number | undefined
  /** The client's numbers of the other calls, without gaps. */
  const numbers = new Map<number, number>()

  const renumbered = <Call extends { readonly call: number }>(event: Call): Call[] => {
    const call = numbers.get(event.call)
    return call === undefined ? [] : [{ ...event, call }]
  }
  const restored = (event: TurnEvent): readonly TurnEvent[] => {
    switch (event.type) {
      case 'tool-call-start':
        if (event.name !== answerTool) {
          numbers.set(event.call, numbers.size)
          return renumbered(event)
        }
        // Only the first call of the tool is the answer; later ones are dropped.
        if (answer !== undefined) return []
        answer = event.call
        reader.state.answerCalls = 1
        return [{ type: 'message-start', phase: undefined }]
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
  return { state: reader.state, read: (frame) => reader.read(frame).flatMap(restored) }
}
