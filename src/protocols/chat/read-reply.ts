import { type Fields, isObject } from '../../lib/types.ts'
import type { Usage } from '../../model/usage.ts'
import { readError, type UpstreamError } from '../refusals/provider-error.ts'
import type { MintIds } from '../shared/codec-types.ts'
import { failureInFinish, faultInCalls, finishReasonFrom, joinChoices, plainContent, textBytesOf } from './chunk.ts'
import type { ChatDialect } from './dialects.ts'
import { isRequested, ToolCallRepair, takeReasoningText } from './repair-chunk.ts'
import { createUsageListener } from './usage.ts'

/** A JSON answer of a provider that speaks Chat, as far as it must be understood to be passed on. */
type ChatReply =
  | {
      readonly kind: 'reply'
      /** Members that had to be mended; the rest goes out as the provider's own bytes. */
      readonly rewritten: ReadonlyMap<string, Buffer>
      readonly usage: Usage | undefined
      readonly outputBytes: number
    }
  | { readonly kind: 'error'; readonly said: UpstreamError }
  | { readonly kind: 'invalid'; readonly what: string }

export interface ReplyOptions {
  readonly dialect: ChatDialect
  readonly mint: Pick<MintIds, 'completionId' | 'callId'>
  /** How many choices the client requested. */
  readonly choices: number
  /** The client declared `functions`, and expects its call as `function_call`. */
  readonly functionForm: boolean
}

export function readReply(value: unknown, options: ReplyOptions): ChatReply {
  if (!isObject(value)) return NO_ANSWER
  if (isObject(value.error) || typeof value.error === 'string') return { kind: 'error', said: readError(value.error) }
  const isSplit = options.dialect.splitsChoices && options.choices === 1 && Array.isArray(value.choices)
  const choices = isSplit ? joinChoices(value.choices as unknown[], 'message') : value.choices
  if (!Array.isArray(choices) || choices.length === 0 || !choices.every(hasMessage)) return NO_ANSWER
  const failed = choices.flatMap((choice) => failureInFinish(choice) ?? [])[0]
  if (failed) return { kind: 'error', said: failed }
  const usage = createUsageListener({ dialect: options.dialect, choices: choices.length })
  usage.hear(value)
  const repaired = mendChoices(choices, { ...options, mintCallId: options.mint.callId })
  if (repaired.fault !== undefined) return { kind: 'invalid', what: repaired.fault }
  return {
    kind: 'reply',
    rewritten: rewrittenMembers(
      value,
      { ...repaired, changed: repaired.changed || choices !== value.choices },
      options.mint,
    ),
    usage: usage.usage(),
    outputBytes: repaired.choices.reduce((sum, choice) => sum + textBytesOf(choice.message as Fields), 0),
  }
}

const NO_ANSWER = { kind: 'invalid', what: 'JSON that is not a chat completion' } as const

const hasMessage = (choice: unknown): choice is Fields => isObject(choice) && isObject(choice.message)

function rewrittenMembers(
  value: Fields,
  repaired: MendedChoices,
  mint: Pick<MintIds, 'completionId'>,
): Map<string, Buffer> {
  const rewritten = new Map<string, Buffer>()
  if (repaired.changed) rewritten.set('choices', Buffer.from(JSON.stringify(repaired.choices)))
  if (typeof value.id !== 'string' || value.id === '')
    rewritten.set('id', Buffer.from(JSON.stringify(mint.completionId())))
  if (value.object !== 'chat.completion') rewritten.set('object', Buffer.from('"chat.completion"'))
  return rewritten
}

interface MendedChoices {
  readonly choices: readonly Fields[]
  /** Whether any of them differs from what came. */
  readonly changed: boolean
  /** What is wrong with them and cannot be repaired. */
  readonly fault: string | undefined
}

interface Requested {
  /** How many choices the client requested. */
  readonly choices: number
  readonly functionForm: boolean
  readonly mintCallId: () => string
}

/** The same for a JSON answer: repairs its choices, and drops those that were not requested. */
function mendChoices(choices: readonly Fields[], asked: Requested): MendedChoices {
  const repaired = new Map<number, Fields>()
  let fault: string | undefined
  for (const [at, choice] of choices.entries()) {
    const index = typeof choice.index === 'number' ? choice.index : at
    if (!isRequested(index, asked.choices) || repaired.has(index)) continue
    const fresh = mendChoice(choice, index, asked)
    fault ??= fresh.fault
    repaired.set(index, fresh.choice)
  }
  if (repaired.size < asked.choices) fault ??= `${repaired.size} of ${asked.choices} choices`
  const kept = [...repaired.values()]
  const changed = kept.length < choices.length || kept.some((choice, at) => choice !== choices[at])
  return { choices: kept, changed, fault }
}

function mendChoice(choice: Fields, index: number, asked: Requested) {
  const message = isObject(choice.message) ? choice.message : {}
  const repaired = mendMessage(message, asked)
  // A JSON answer that came whole is whole, although some servers do not say why it ended.
  const calls = callsIn(repaired)
  const word = finishReasonFrom(choice.finish_reason, calls) ?? finishReasonFrom('stop', calls)
  // A call without a name is none of them any more.
  const fault = faultInCalls(word, calls) ?? faultInCalls(word, callsIn(message))
  const finish = word === 'tool_calls' && asked.functionForm ? 'function_call' : word
  if (repaired === choice.message && finish === choice.finish_reason && index === choice.index) return { choice, fault }
  return { choice: { ...choice, index, message: repaired, finish_reason: finish }, fault }
}

function callsIn({ tool_calls: calls, function_call: called }: Fields): ToolCallRepair {
  const repairer = new ToolCallRepair(() => '')
  if (Array.isArray(calls)) repairer.repair(fragmentsOf(calls))
  else if (isObject(called)) repairer.repair([{ index: 0, function: called }])
  return repairer
}

/** Whole calls are fragments that come all at once; the index belongs to streams only. */
const fragmentsOf = (calls: readonly unknown[]): Fields[] =>
  calls.filter(isObject).map((call, index) => ({ ...call, index }))

function mendMessage(message: Fields, { functionForm, mintCallId }: Requested): Fields {
  const changes: Fields = {}
  if (message.role !== 'assistant') changes.role = 'assistant'
  if (Array.isArray(message.content)) {
    const { content, reasoning } = plainContent(message.content)
    changes.content = content
    if (reasoning !== '') changes.reasoning_content = reasoning
  } else if (message.content === undefined) changes.content = null
  const renames = typeof message.reasoning_text === 'string'
  const older = !functionForm && isObject(message.function_call) ? [{ function: message.function_call }] : undefined
  const calls = Array.isArray(message.tool_calls) && message.tool_calls.length > 0 ? message.tool_calls : older
  const mendedCalls = calls === undefined ? undefined : wholeCalls(calls, mintCallId)
  if (mendedCalls !== undefined) changes.tool_calls = mendedCalls
  const left = mendedCalls ?? message.tool_calls
  // Present and empty is not absent: several clients take a list, or even null, for calls to come.
  const empty = left === null || (Array.isArray(left) && left.length === 0)
  if (Object.keys(changes).length === 0 && !empty && !renames && older === undefined) return message
  const repaired = { ...message, ...changes }
  if (renames) takeReasoningText(repaired)
  if (empty) delete repaired.tool_calls
  if (older !== undefined) delete repaired.function_call
  return repaired
}

function wholeCalls(calls: readonly unknown[], mintCallId: () => string): Fields[] | undefined {
  const repairer = new ToolCallRepair(mintCallId)
  const indexed = fragmentsOf(calls)
  const repaired = repairer.repair(indexed) ?? indexed
  const without = new Map(repairer.withoutArguments().map((fragment) => [fragment.index, fragment.function]))
  const plain = repaired.map(({ index, ...call }) =>
    without.has(index)
      ? { ...call, function: { ...(call.function as Fields), ...(without.get(index) as Fields) } }
      : call,
  )
  return JSON.stringify(plain) === JSON.stringify(calls) ? undefined : plain
}
