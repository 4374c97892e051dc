import { isUtf8 } from 'node:buffer'
import { type Fields, isObject } from '../../../src/lib/types.ts'
import type { PlainAnswer } from '../streams/answer-frames.ts'
import { type Answer, Broken, type Counts, differenceOf, isJson, textOf } from './answer.ts'
import { readChatReply, readChatStream } from './chat-client.ts'
import type { Script } from './compose-script.ts'
import { type Delivered, Invalid, insist } from './delivered.ts'
import { parseAnthropicStream } from './parse-anthropic.ts'
import { parseChatReply, parseChatStream } from './parse-chat.ts'
import { parseGeminiStream } from './parse-gemini.ts'
import { parseResponsesReply, parseResponsesStream } from './parse-responses.ts'
import { readResponsesReply, readResponsesStream } from './responses-client.ts'
import { wireFrames } from './wire-frames.ts'

/** What a perfect reader of the wire hears. */
export type Meant =
  | { readonly answer: Answer /** Why it may as well be refused. */; readonly doubts: readonly string[] }
  | { readonly broken: string }

export function parseOutput(script: Script): Meant {
  try {
    const { answer, doubts } = parsedOf(script)
    const isPastCap = script.inputs.cap !== undefined
    return {
      answer: withKnownCounts(answer, script),
      doubts: [...doubts, ...(isPastCap ? ['perhaps more words than its client allows'] : [])],
    }
  } catch (error) {
    if (error instanceof Broken) return { broken: error.message }
    throw error
  }
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff')

function parsedOf({ wire, form, bytes, choices, breaks }: Script): { answer: Answer; doubts: ReadonlySet<string> } {
  if (form === 'json') {
    if (breaks) throw new Broken('the connection breaks')
    const reply = jsonIn(bytes)
    const isMarked = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    const doubts = new Set(isMarked ? ['a byte order mark, which JSON has none of'] : [])
    return { answer: wire === 'chat' ? parseChatReply(reply, choices) : parseResponsesReply(reply), doubts }
  }
  const read = wireFrames(bytes, { breaks })
  const { doubts } = read
  if (breaks) doubts.add('the connection breaks')
  if (wire === 'chat') return { answer: parseChatStream(read, choices), doubts }
  if (wire === 'responses') return { answer: parseResponsesStream(read), doubts }
  return { answer: wire === 'anthropic' ? parseAnthropicStream(read) : parseGeminiStream(read), doubts }
}

function jsonIn(bytes: Buffer): Fields {
  const text = new TextDecoder().decode(bytes)
  const value: unknown = isJson(text) ? JSON.parse(text) : undefined
  if (!isObject(value)) throw new Broken('no JSON object')
  return value
}

/**
 * Counts that damage has changed, or of which some are missing, are believed or estimated, and none is above the client's cap: these
 * are not judged here.
 */
function withKnownCounts({ choices, counts }: Answer, { answers, inputs }: Script): Answer {
  const isKnown = inputs.cap === undefined && JSON.stringify(counts) === JSON.stringify(countsOf(answers))
  return { choices, counts: isKnown ? counts : undefined }
}

const countsOf = ([answer]: readonly PlainAnswer[]): Counts | undefined => answer?.counts

/** What its own error in an answer may mean as well: the request, or too many of them. */
const FAILURES = new Set([503, 429, 400])

/** What the client was told; throws `Invalid` where that is nothing a client can read. */
export function readDelivered(script: Script, model: string, answer: { status: number; body: Buffer }): Delivered {
  const { protocol, delivery, choices, wantsUsage } = script
  insist(answer.status !== 0, 'no answer, or half of one')
  insist(isUtf8(answer.body), 'it is no UTF-8')
  const text = answer.body.toString()
  if (answer.status !== 200) {
    const { error } = isJson(text) ? JSON.parse(text) : { error: undefined }
    insist(isObject(error) && textOf(error.message) !== '', `${answer.status} without an envelope`)
    insist(FAILURES.has(answer.status), `${answer.status} for what its provider has done: ${text}`)
    return { failed: textOf(error.code) }
  }
  if (protocol === 'responses') return (delivery === 'json' ? readResponsesReply : readResponsesStream)(text, model)
  return (delivery === 'json' ? readChatReply : readChatStream)(text, { model, choices, wantsUsage })
}

export type Verdict =
  | { readonly outcome: 'equal' | 'failed'; readonly finding?: undefined }
  | { readonly outcome: 'finding'; readonly finding: string }

/** Whether the client got what was said, or a failure where there was something wrong; all else is a finding. */
export function judge(meant: Meant, read: () => Delivered): Verdict {
  let reported: Delivered
  try {
    reported = read()
  } catch (error) {
    if (!(error instanceof Invalid)) throw error
    return { outcome: 'finding', finding: `invalid: ${error.message}` }
  }
  if ('failed' in reported) {
    const mayFail = 'broken' in meant || meant.doubts.length > 0
    return mayFail
      ? { outcome: 'failed' }
      : { outcome: 'finding', finding: `refused a good answer: ${reported.failed}` }
  }
  if ('broken' in meant) return { outcome: 'finding', finding: `a success of what is broken: ${meant.broken}` }
  const difference = differenceOf(reported.answer, meant.answer)
  return difference === undefined
    ? { outcome: 'equal' }
    : { outcome: 'finding', finding: `another answer: ${difference}` }
}
