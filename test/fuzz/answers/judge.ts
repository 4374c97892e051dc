import { isUtf8 } from 'node:buffer'
import { type Fields, isObject } from '../../../src/lib/types.ts'
import type { PlainAnswer } from '../streams/answer-frames.ts'
import { type Answer, Broken, type Counts, differenceOf, isJson, textOf } from './answer.ts'
import { readChatReply, readChatStream } from './chat-client.ts'
import type { Script } from './compose-script.ts'
import { hearAnthropicStream } from './parse-anthropic.ts'
import { hearChatReply, hearChatStream } from './parse-chat.ts'
import { hearGeminiStream } from './parse-gemini.ts'
import { hearResponsesReply, hearResponsesStream } from './parse-responses.ts'
import { readResponsesReply, readResponsesStream } from './responses-client.ts'
import { Invalid, insist, type Told } from './delivered.ts'
import { wireFrames } from './wire-frames.ts'

/** What a perfect reader of the wire hears. */
export type Meant =
  | { readonly answer: Answer /** Why it may as well be refused. */; readonly doubts: readonly string[] }
  | { readonly broken: string }

export function hear(script: Script): Meant {
  try {
    const { answer, doubts } = heardOf(script)
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

function heardOf({ wire, form, bytes, choices, breaks }: Script): { answer: Answer; doubts: ReadonlySet<string> } {
  if (form === 'json') {
    if (breaks) throw new Broken('the connection breaks')
    const reply = jsonIn(bytes)
    const isMarked = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    const doubts = new Set(isMarked ? ['a byte order mark, which JSON has none of'] : [])
    return { answer: wire === 'chat' ? hearChatReply(reply, choices) : hearResponsesReply(reply), doubts }
  }
  const read = wireFrames(bytes)
  const { doubts } = read
  if (breaks) doubts.add('the connection breaks')
  if (wire === 'chat') return { answer: hearChatStream(read, choices), doubts }
  if (wire === 'responses') return { answer: hearResponsesStream(read), doubts }
  return { answer: wire === 'anthropic' ? hearAnthropicStream(read) : hearGeminiStream(read), doubts }
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
export function readTold(script: Script, model: string, answer: { status: number; body: Buffer }): Told {
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
export function judge(meant: Meant, read: () => Told): Verdict {
  let told: Told
  try {
    told = read()
  } catch (error) {
    if (!(error instanceof Invalid)) throw error
    return { outcome: 'finding', finding: `invalid: ${error.message}` }
  }
  if ('failed' in told) {
    const mayFail = 'broken' in meant || meant.doubts.length > 0
    return mayFail ? { outcome: 'failed' } : { outcome: 'finding', finding: `refused a good answer: ${told.failed}` }
  }
  if ('broken' in meant) return { outcome: 'finding', finding: `a success of what is broken: ${meant.broken}` }
  const difference = differenceOf(told.answer, meant.answer)
  return difference === undefined
    ? { outcome: 'equal' }
    : { outcome: 'finding', finding: `another answer: ${difference}` }
}
