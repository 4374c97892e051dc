import {
  type ContentPart,
  type Conversation,
  type ConversationItem,
  isText,
  NO_SAMPLING,
  userMessage,
} from '../../model/conversation.ts'
import type { FinishReason } from '../../model/event.ts'
import type { CompactionReader, EventReader } from './codec-types.ts'
import type { StreamState } from './stream-state.ts'

/** The last user message of a conversation that is compacted: the conversation itself is sent unchanged. */
const REQUEST = `The conversation is about to be shortened. Write the summary that will stand in the place of everything above: whoever goes on from here, you or another model, will see only your summary and what comes after it.

Write down, as far as the conversation has it:
- What the user wants, and every instruction, preference and limit that still holds; in the user's own words where the words matter.
- Every fact that may be needed again, exactly: names, numbers, dates, ids, paths, URLs, versions, commands, error messages, short pieces of code or data.
- What was done and found out, what was decided and why, which files were read, made or changed, and what failed.
- Where things stand now, what is not finished, and the very next step.

Leave out greetings, repetitions, and what led nowhere. Do not answer anything in the conversation, do not call tools, do not speak of this request. Write only the summary, as plain text, in the language of the conversation, with what matters most first. Be as short as you can be without losing any of it: at most 1500 words, and always much shorter than the conversation.`

export const SUMMARY_REQUEST_BYTES = Buffer.byteLength(REQUEST)

/** The conversation with a request for its summary. Without tools, because some servers let the model call one all the same. */
export function writeSummaryRequest(conversation: Conversation): Conversation {
  return {
    ...conversation,
    items: [...conversation.items, userMessage(REQUEST)],
    tools: [],
    toolChoice: undefined,
    parallelToolCalls: undefined,
    format: undefined,
    verbosity: undefined,
    reasoning: { ...conversation.reasoning, summary: undefined },
    sampling: NO_SAMPLING,
  }
}

const FRAME = '[compaction] The conversation so far was shortened. What follows sums it up:\n\n'

/** A summary for the model that continues from it. */
export const framedSummary = (text: string): string => FRAME + text

export const isFramedSummary = (text: unknown): boolean => typeof text === 'string' && text.startsWith(FRAME)

/**
 * The conversation word for word, without system messages, for one that is shorter than its summary; empty where it has more
 * than text, which only the model can describe.
 */
export const transcriptOf = ({ items }: Pick<Conversation, 'items'>): string =>
  items.every((item) => !('content' in item) || item.content.every(isText)) ? items.flatMap(linesOf).join('\n\n') : ''

function linesOf(item: ConversationItem): string[] {
  switch (item.type) {
    case 'message': {
      if (item.role !== 'user' && item.role !== 'assistant') return []
      const text = item.content.map(textOf).join('')
      return text === '' ? [] : [`${item.role}: ${text}`]
    }
    case 'tool-call':
      return [
        `call ${item.callId} of ${item.namespace === undefined ? '' : `${item.namespace}.`}${item.name}: ${item.text}`,
      ]
    case 'tool-result':
      return [`result of ${item.callId}: ${item.content.map(textOf).join('')}`]
    case 'reasoning':
      return []
  }
}

const textOf = (part: ContentPart): string => (isText(part) ? part.text : `[${part.type}]`)

/** A truncated summary has what matters most, if it is long enough to be one. */
const TRUNCATED_CHARACTERS_MIN = 1000
const TRUNCATED = '\n\n[The summary was cut off here.]'

/** Reads the answer as a summary. A conversation that is shorter than its summary replaces it. */
export function createSummaryReader(reader: EventReader, transcript: string): CompactionReader {
  const state: StreamState = { ...reader.state }
  let summary = ''
  let isTruncated = false
  return {
    state,
    read(frame) {
      let ending: FinishReason | undefined
      for (const event of reader.read(frame)) {
        if (event.type === 'text-delta') summary += event.text
        if (event.type === 'turn-end') ending = event.reason
      }
      ending ??= reader.ending
      if (ending !== undefined) {
        isTruncated = ending === 'length'
        const { length } = summary.trim()
        const isSummary = isTruncated ? length >= TRUNCATED_CHARACTERS_MIN : ending === 'stop' && length > 0
        if (!isSummary) reader.state.error ??= NO_SUMMARY
      }
      Object.assign(state, reader.state, { heldBytes: reader.state.outputBytes })
    },
    compacted() {
      const text = isTruncated ? summary.trim() + TRUNCATED : summary.trim()
      return { kind: 'summary', text: transcript !== '' && transcript.length < text.length ? transcript : text }
    },
  }
}

const NO_SUMMARY = { message: 'The model did not give a summary of the conversation.', code: 'server_error' }
