import type { Fields } from '../../lib/is-object.ts'
import type { CallItem } from '../../model/conversation.ts'
import type { SettledCharge } from '../../model/ending.ts'
import type { TokenLogprob } from '../../model/event.ts'
import type { Reply, ReplyItem, ReplyMessage } from '../../model/reply.ts'
import { joinedWords } from '../joined-words.ts'
import { FINISH_REASONS } from './finish-reason.ts'
import type { ChunkStamp } from './write-events.ts'
import { writeLogprobs } from './write-logprobs.ts'
import { writeUsage } from './write-usage.ts'

/** A whole answer as the JSON that chat knows: the same words as in a stream, in one message. */
export function writeReply(reply: Reply, stamp: ChunkStamp, settled: SettledCharge): Buffer {
  const choice = {
    index: 0,
    message: writeMessage(reply.items),
    logprobs: writeLogprobs(reply.items.flatMap(logprobsOf)),
    finish_reason: FINISH_REASONS[reply.finish ?? 'stop'],
  }
  const { id, created, model } = stamp
  const body = { id, object: 'chat.completion', created, model, choices: [choice], usage: writeUsage(settled) }
  return Buffer.from(JSON.stringify(body))
}

/** Calls and reasoning are there only if there are any: several clients take an empty list for calls to come. */
function writeMessage(items: readonly ReplyItem[]): Fields {
  const messages = items.filter((item) => item.type === 'message')
  const calls = items.flatMap((item) => (item.type === 'tool-call' ? [writeCall(item)] : []))
  const content = joinedWords(messages.map((message) => wordsIn(message, 'text')))
  const reasoning = joinedWords(
    items.flatMap((item) => (item.type === 'reasoning' ? [item.text, ...item.summary] : [])),
  )
  const refusal = joinedWords(messages.map((message) => wordsIn(message, 'refusal')))
  return {
    role: 'assistant',
    content: content === '' && (calls.length > 0 || refusal !== '') ? null : content,
    refusal: refusal === '' ? null : refusal,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

const wordsIn = ({ content }: ReplyMessage, type: 'text' | 'refusal'): string =>
  content.flatMap((part) => (part.type === type ? [part.text] : [])).join('')

function writeCall({ tool, callId, name, text }: CallItem): Fields {
  const said = tool === 'custom' ? { name, input: text } : { name, arguments: text }
  return { id: callId, type: tool, [tool]: said }
}

const logprobsOf = (item: ReplyItem): readonly TokenLogprob[] =>
  item.type === 'message' ? item.content.flatMap((part) => (part.type === 'text' ? part.logprobs : [])) : []
