import type { ToolName } from '../../model/conversation.ts'
import type { CallStart, TurnEvent } from '../../model/event.ts'
import { JsonProgress } from '../json/scan-json.ts'
import type { EventReader } from '../shared/codec-types.ts'
import { newStreamState, type StreamState } from '../shared/stream-state.ts'
import { createInputDecoder, type InputDecoder } from './custom-tools.ts'
import { BROKEN_ARGUMENTS, type ToolNames } from './tool-names.ts'

/**
 * Gives the tools of an answer the names and kinds by which the client declared them, and checks what every client relies on:
 * the arguments of a function are JSON.
 */
export function restoreTools(reader: EventReader, names: ToolNames): EventReader {
  const state = newStreamState()
  const restoring: Restoring = {
    ...{ names, decoders: new Map(), calls: new Map(), begun: -1 },
    ...{ isCut: false, addedBytes: 0, invalid: undefined },
  }
  const takeOver = () => {
    let waiting = 0
    for (const decoder of restoring.decoders.values()) waiting += decoder.heldBytes()
    Object.assign(state, reader.state satisfies StreamState, { heldBytes: reader.state.heldBytes + waiting })
    state.outputBytes += restoring.addedBytes
    if (restoring.invalid === undefined) return
    state.invalid = restoring.invalid
    state.finished = false
  }
  return {
    state,
    read(frame) {
      const events: TurnEvent[] = []
      const read = reader.read(frame)
      restoring.isCut = read.some(isCut)
      for (const event of read) if (event.type === 'tool-call-start') restoring.begun = event.call
      for (const event of read) {
        if (restoring.invalid !== undefined) break
        restore(restoring, event, events)
      }
      takeOver()
      return events
    },
  }
}

interface Restoring {
  readonly names: ToolNames
  readonly decoders: Map<number, InputDecoder>
  /** The arguments of functions so far. */
  readonly calls: Map<number, JsonProgress>
  /** The call that was begun last. */
  begun: number
  /** The answer is cut off here, so a call without arguments may have been meant to have some. */
  isCut: boolean
  /** Bytes that we added because the provider omitted them. */
  addedBytes: number
  invalid: string | undefined
}

function restore(restoring: Restoring, event: TurnEvent, events: TurnEvent[]): void {
  const { decoders, calls } = restoring
  switch (event.type) {
    case 'tool-call-start':
      events.push(begin(restoring, event))
      return
    case 'tool-call-delta': {
      const decoder = decoders.get(event.call)
      if (decoder !== undefined) {
        pushDelta(event.call, decoder.push(event.text), events)
        return
      }
      const written = calls.get(event.call)
      if (written !== undefined) write(restoring, written, event.text)
      if (restoring.invalid === undefined) events.push(event)
      return
    }
    case 'tool-call-end':
      pushDelta(event.call, decoders.get(event.call)?.end() ?? '', events)
      decoders.delete(event.call)
      if (!isCutCall(restoring, event.call) && calls.get(event.call)?.state === 'empty')
        sayNoArguments(restoring, event.call, events)
      events.push(event)
      return
    case 'turn-end':
      // Of an answer that was cut the last call may be cut, too.
      if ([...calls].some(([call, written]) => isNotWhole(written) && !isCutCall(restoring, call)))
        restoring.invalid = BROKEN_ARGUMENTS
      else events.push(event)
      return
    default:
      events.push(event)
  }
}

const isCut = (event: TurnEvent): boolean =>
  event.type === 'turn-end' && event.reason !== 'stop' && event.reason !== 'tool-calls'

/** Of an answer that was cut the last call may be cut, too. */
const isCutCall = ({ isCut: isAnswerCut, begun }: Restoring, call: number): boolean => isAnswerCut && call === begun

/** Clients parse what they are given. */
function sayNoArguments(restoring: Restoring, call: number, events: TurnEvent[]): void {
  restoring.calls.get(call)?.feed('{}')
  restoring.addedBytes += 2
  pushDelta(call, '{}', events)
}

const isNotWhole = ({ state }: JsonProgress): boolean => state === 'cut' || state === 'broken'

function begin({ names, decoders, calls }: Restoring, event: CallStart): CallStart {
  const known = names.clientName(event.name, event.namespace)
  const told = known === undefined ? event : renamed(event, known)
  if (told.tool === 'custom' && event.tool === 'function') decoders.set(event.call, createInputDecoder())
  if (told.tool === 'function') calls.set(event.call, new JsonProgress())
  return told
}

function write(restoring: Restoring, call: JsonProgress, text: string): void {
  call.feed(text)
  if (call.state === 'broken') restoring.invalid = BROKEN_ARGUMENTS
}

/** A tool that the lane gave as a custom one is one, whatever it was declared as. */
const renamed = (event: CallStart, { name, namespace, tool }: ToolName): CallStart => ({
  ...event,
  name,
  namespace,
  tool: event.tool === 'custom' ? 'custom' : tool,
})

function pushDelta(call: number, text: string, events: TurnEvent[]): void {
  if (text !== '') events.push({ type: 'tool-call-delta', call, text })
}
