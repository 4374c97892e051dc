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

/**
 * What a model is asked in order to make a conversation short, as the last word of its user: so the conversation itself
 * goes to the provider as it always has.
 */
const REQUEST = `The conversation is about to be shortened. Write the summary that will stand in the place of everything above: whoever goes on from here, you or another model, will see only your summary and what comes after it.

Write down, as far as the conversation has it:
- What the user wants, and every instruction, preference and limit that still holds; in the user's own words where the words matter.
- Every fact that may be needed again, exactly: names, numbers, dates, ids, paths, URLs, versions, commands, error messages, short pieces of code or data.
- What was done and found out, what was decided and why, which files were read, made or changed, and what failed.
- Where things stand now, what is not finished, and the very next step.

Leave out greetings, repetitions, and what led nowhere. Do not answer anything in the conversation, do not call tools, do not speak of this request. Write only the summary, as plain text, in the language of the conversation, with what matters most first. Be as short as you can be without losing any of it: at most 1500 words, and always much shorter than the conversation.`

/** What is sent beyond the conversation. */
export const SUMMARY_REQUEST_BYTES = Buffer.byteLength(REQUEST)

/**
 * The same conversation with nothing left to do but to sum it up. Without tools: some servers would have the model call
 * one, whatever they are told.
 */
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

/** How a summary is told to the model that goes on from it. */
export const framedSummary = (text: string): string => FRAME + text

export const isFramedSummary = (text: unknown): boolean => typeof text === 'string' && text.startsWith(FRAME)

/**
 * The conversation word for word, for one that is shorter than its summary would be; empty where there is more than words in
 * it, of which only the model can tell. What the system says is not in it: it stays beside it.
 */
export const transcriptOf = ({ items }: Pick<Conversation, 'items'>): string =>
  items.every(isOfWords) ? items.flatMap(linesOf).join('\n\n') : ''

const isOfWords = (item: ConversationItem): boolean => !('content' in item) || item.content.every(isText)

function linesOf(item: ConversationItem): string[] {
  switch (item.type) {
    case 'message': {
      if (item.role !== 'user' && item.role !== 'assistant') return []
      const said = item.content.map(wordsOf).join('')
      return said === '' ? [] : [`${item.role}: ${said}`]
    }
    case 'tool-call':
      return [
        `call ${item.callId} of ${item.namespace === undefined ? '' : `${item.namespace}.`}${item.name}: ${item.text}`,
      ]
    case 'tool-result':
      return [`result of ${item.callId}: ${item.content.map(wordsOf).join('')}`]
    case 'reasoning':
      return []
  }
}

const wordsOf = (part: ContentPart): string => (isText(part) ? part.text : `[${part.type}]`)

/** One that was stopped before it had said all has said what matters most, if it has said anything like a summary. */
const CUT_CHARACTERS_MIN = 1000
const CUT = '\n\n[The summary was cut off here.]'

/**
 * Reads the answer as a summary. A conversation that is shorter than its summary stands for itself: what is made short
 * shall be short.
 */
export function createSummaryReader(reader: EventReader, transcript: string): CompactionReader {
  const state: StreamState = { ...reader.state }
  let summary = ''
  let isCut = false
  return {
    state,
    read(frame) {
      for (const event of reader.read(frame)) {
        if (event.type === 'text-delta') summary += event.text
        if (event.type !== 'turn-end') continue
        isCut = event.reason === 'length'
        if (!isSummary(summary.trim(), event.reason)) reader.state.error ??= NO_SUMMARY
      }
      Object.assign(state, reader.state, { heldBytes: reader.state.outputBytes })
    },
    compacted() {
      const said = isCut ? summary.trim() + CUT : summary.trim()
      return { kind: 'summary', text: transcript !== '' && transcript.length < said.length ? transcript : said }
    },
  }
}

function isSummary(text: string, reason: FinishReason): boolean {
  if (reason === 'length') return text.length >= CUT_CHARACTERS_MIN
  return reason === 'stop' && text !== ''
}

const NO_SUMMARY = { message: 'The model did not give a summary of the conversation.', code: 'server_error' }
