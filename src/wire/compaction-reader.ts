import type { Compacted } from '../model/compaction.ts'
import type { EventReader, Heard } from './event-reader.ts'

/** Listens to a lane that was asked to make a conversation short. */
export interface CompactionReader {
  read(frame: Buffer): void
  /** Nothing of it has been handed on before the whole is there. */
  readonly heard: Heard
  /** Only after `heard.finished`, without an error. */
  compacted(): Compacted
}

/** What a model is let through with that was stopped before it had said all: it has said what matters most. */
const CUT = '\n\n[The summary was cut off here.]'

/**
 * Reads the answer as a summary. A conversation that is shorter than its summary stands for itself: what is made short
 * shall be short.
 */
export function createSummaryReader(reader: EventReader, transcript: () => string): CompactionReader {
  const heard: Heard = { ...reader.heard }
  let summary = ''
  let isCut = false
  return {
    heard,
    read(frame) {
      for (const event of reader.read(frame)) {
        if (event.type === 'text-delta') summary += event.text
        if (event.type === 'turn-end') isCut = event.reason === 'length'
        if (event.type === 'turn-end' && (summary.trim() === '' || !SAID_ALL.has(event.reason)))
          reader.heard.error ??= NO_SUMMARY
      }
      Object.assign(heard, reader.heard, { heldBytes: reader.heard.outputBytes })
    },
    compacted() {
      const words = transcript()
      const said = isCut ? summary.trim() + CUT : summary.trim()
      return { kind: 'summary', text: words !== '' && words.length < said.length ? words : said }
    },
  }
}

const SAID_ALL: ReadonlySet<string> = new Set(['stop', 'length'])
const NO_SUMMARY = { message: 'The model did not give a summary of the conversation.', code: 'server_error' }
