import { type Fields, isObject } from '../../lib/types.ts'
import type { TokenLogprob } from '../../model/event.ts'
import type { Protocol } from '../../model/turn.ts'

// Texts of our own for a model, where a protocol requires a text and the client has sent none.

/** The result of a call whose turn ended before there was one. */
export const ABORTED = 'aborted'

/** The result of a call that has only parts which cannot stand in a result: they are shown behind it. */
export const RESULT_ELSEWHERE = 'The result is shown below.'

/** In front of the parts that are shown behind a result, and of the name of its tool. */
export const FROM_RESULT = 'From the result of the tool'

/** The user message in front of a conversation that the assistant starts. */
export const USER_BEGINS = 'Begin.'

/** The user message behind a conversation that the assistant ends. */
export const USER_GOES_ON = 'Go on.'

/** For a model that cannot be made to answer in JSON. */
export const PLEA_FOR_JSON = 'Answer with one JSON object, and with nothing before or behind it.'

/** Between texts that a protocol joins into one. */
export const BREAK = '\n\n'

/** Joins the texts that are not empty. */
export const joinTexts = (texts: readonly (string | undefined)[]): string =>
  texts.filter((text) => text !== undefined && text !== '').join(BREAK)

/** The first of several choices or candidates, by its index; without an index, by its place. */
export function firstOf(answers: unknown): Fields | undefined {
  if (!Array.isArray(answers)) return undefined
  let at = 0
  for (const answer of answers) {
    if (!isObject(answer)) continue
    if (typeof answer.index === 'number' ? answer.index === 0 : at === 0) return answer
    at += 1
  }
  return undefined
}

/** The names of fields that a lane may not support, in each client protocol. Names that both share need no row. */
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

export const clientName = (what: NamedApart, client: Protocol): string => NAMES[what][client]

/** For log probabilities whose text may never come. */
export const LOGPROBS_WAITING_MAX = 10_000

/** The tokens of a text, in the form that both client protocols have; malformed entries are dropped. */
export function readLogprobs(tokens: unknown): readonly TokenLogprob[] {
  if (!Array.isArray(tokens) || tokens.length === 0) return NO_LOGPROBS
  return listOf(tokens).flatMap((entry) => {
    const token = readToken(entry)
    return token === undefined
      ? []
      : [{ ...token, top: listOf(entry.top_logprobs).flatMap((top) => readToken(top) ?? []) }]
  })
}

const NO_LOGPROBS: readonly TokenLogprob[] = []

const listOf = (list: unknown): Fields[] => (Array.isArray(list) ? list.filter(isObject) : [])

function readToken({ token, logprob, bytes }: Fields): Omit<TokenLogprob, 'top'> | undefined {
  if (typeof token !== 'string' || typeof logprob !== 'number') return undefined
  const isBytes = Array.isArray(bytes) && bytes.every((byte) => typeof byte === 'number')
  return { token, logprob, bytes: isBytes ? bytes : undefined }
}
