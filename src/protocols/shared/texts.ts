import { type Fields, isObject } from '../../lib/types.ts'
import type { TokenLogprob } from '../../model/event.ts'
import type { Protocol } from '../../model/turn.ts'

/** What Millrace says itself to a model, in the place of somebody who has said nothing, wherever a protocol cannot do without. */

/** The result of a call whose turn was given up before there was one. */
export const ABORTED = 'aborted'

/** Of a call whose result is nothing but what cannot stand in one: that is shown behind it. */
export const RESULT_ELSEWHERE = 'The result is shown below.'

/** In front of what is shown behind a result, and of the name of its tool. */
export const FROM_RESULT = 'From the result of the tool'

/** Of a user who speaks only after the assistant. */
export const USER_BEGINS = 'Begin.'

/** Of a user who leaves the last word to the assistant. */
export const USER_GOES_ON = 'Go on.'

/** For a model that has no way to be made to answer in JSON. */
export const PLEA_FOR_JSON = 'Answer with one JSON object, and with nothing before or behind it.'

/** Between texts of which a protocol makes one: what was said apart stays apart. */
export const BREAK = '\n\n'

/** Those that say anything. */
export const joinTexts = (texts: readonly (string | undefined)[]): string =>
  texts.filter((text) => text !== undefined && text !== '').join(BREAK)

/** Of several answers that a server could give at once the first, by its index; one without an index stands in its place. */
export function firstOf(answers: unknown): Fields | undefined {
  if (!Array.isArray(answers)) return undefined
  return answers.filter(isObject).find(({ index }, at) => (typeof index === 'number' ? index === 0 : at === 0))
}

/** Where a client has written what a lane has no words for. */
const NAMES = {
  audio: { chat: 'input_audio', responses: 'input_audio' },
  effort: { chat: 'reasoning_effort', responses: 'reasoning.effort' },
  file: { chat: 'file', responses: 'input_file' },
  fileId: { chat: 'file.file_id', responses: 'input_file.file_id' },
  fileUrl: { chat: 'file', responses: 'input_file.file_url' },
  format: { chat: 'response_format', responses: 'text.format' },
  image: { chat: 'image_url', responses: 'input_image' },
  logprobs: { chat: 'logprobs', responses: 'include' },
  messageName: { chat: 'messages.name', responses: 'input.name' },
  strayResult: { chat: 'messages.tool_call_id', responses: 'function_call_output' },
  summary: { chat: 'reasoning_effort', responses: 'reasoning.summary' },
  verbosity: { chat: 'verbosity', responses: 'text.verbosity' },
} as const satisfies Record<string, Record<Protocol, string>>

export type NamedApart = keyof typeof NAMES

/** The name by which a client knows it. What both protocols call the same needs no row. */
export const clientName = (what: NamedApart, client: Protocol): string => NAMES[what][client]

/** The tokens of a text in a list as both protocols of clients have it; what is not one is not there. */
export function readLogprobs(tokens: unknown): TokenLogprob[] {
  return listOf(tokens).flatMap((entry) => {
    const token = readToken(entry)
    return token === undefined
      ? []
      : [{ ...token, top: listOf(entry.top_logprobs).flatMap((top) => readToken(top) ?? []) }]
  })
}

const listOf = (list: unknown): Fields[] => (Array.isArray(list) ? list.filter(isObject) : [])

function readToken({ token, logprob, bytes }: Fields): Omit<TokenLogprob, 'top'> | undefined {
  if (typeof token !== 'string' || typeof logprob !== 'number') return undefined
  const isBytes = Array.isArray(bytes) && bytes.every((byte) => typeof byte === 'number')
  return { token, logprob, bytes: isBytes ? bytes : undefined }
}
