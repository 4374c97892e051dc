import type { ToolName } from '../../model/conversation.ts'
import type { CallStart, TurnEvent } from '../../model/event.ts'
import type { EventReader } from '../event-reader.ts'
import { type Heard, nothingHeard } from '../heard.ts'
import { createInputDecoder, type InputDecoder } from './custom-as-function.ts'
import type { ToolNames } from './tool-names.ts'

/** Gives the tools of an answer back the names and kinds that their client knows them by. */
export function restoreTools(reader: EventReader, names: ToolNames): EventReader {
  const heard = nothingHeard()
  const decoders = new Map<number, InputDecoder>()
  const takeOver = () => {
    let waiting = 0
    for (const decoder of decoders.values()) waiting += decoder.heldBytes()
    Object.assign(heard, reader.heard satisfies Heard, { heldBytes: reader.heard.heldBytes + waiting })
  }
  return {
    heard,
    read(frame) {
      const events = reader.read(frame).flatMap((event) => restore(event, names, decoders))
      takeOver()
      return events
    },
    readAlike(frames) {
      // What is decoded is other words than what comes.
      const run = decoders.size === 0 ? reader.readAlike(frames) : undefined
      if (run !== undefined) takeOver()
      return run
    },
  }
}

function restore(event: TurnEvent, names: ToolNames, decoders: Map<number, InputDecoder>): readonly TurnEvent[] {
  switch (event.type) {
    case 'tool-call-start': {
      const known = names.clientName(event.name, event.namespace)
      if (!known) return [event]
      if (known.tool === 'custom' && event.tool === 'function') decoders.set(event.call, createInputDecoder())
      return [renamed(event, known)]
    }
    case 'tool-call-delta': {
      const decoder = decoders.get(event.call)
      return decoder ? deltaOf(event.call, decoder.push(event.text)) : [event]
    }
    case 'tool-call-end': {
      const rest = decoders.get(event.call)?.end() ?? ''
      decoders.delete(event.call)
      return [...deltaOf(event.call, rest), event]
    }
    default:
      return [event]
  }
}

/** A tool that the lane gave as a custom one is one, whatever it was declared as. */
const renamed = (event: CallStart, { name, namespace, tool }: ToolName): CallStart => ({
  ...event,
  name,
  namespace,
  tool: event.tool === 'custom' ? 'custom' : tool,
})

const deltaOf = (call: number, text: string): readonly TurnEvent[] =>
  text === '' ? [] : [{ type: 'tool-call-delta', call, text }]
