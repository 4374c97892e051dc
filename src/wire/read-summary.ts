import type { FinishReason } from '../model/event.ts'
import type { CompactionReader } from './compaction-reader.ts'
import type { EventReader, Heard } from './event-reader.ts'

/** One that was stopped before it had said all has said what matters most, if it has said anything like a summary. */
const CUT_CHARACTERS_MIN = 1000
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
        if (event.type !== 'turn-end') continue
        isCut = event.reason === 'length'
        if (!isSummary(summary.trim(), event.reason)) reader.heard.error ??= NO_SUMMARY
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

function isSummary(text: string, reason: FinishReason): boolean {
  if (reason === 'length') return text.length >= CUT_CHARACTERS_MIN
  return reason === 'stop' && text !== ''
}

const NO_SUMMARY = { message: 'The model did not give a summary of the conversation.', code: 'server_error' }
