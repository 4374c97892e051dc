import { type Fields, isObject } from '../../lib/types.ts'
import type { SettledCharge } from '../../model/ending.ts'
import { readBareError, readError } from '../refusals/provider-error.ts'
import type { EncodedReply, ReceivedReply } from '../shared/codec-types.ts'
import {
  failureIn,
  faultInCalls,
  finishReasonFrom,
  hasChoices,
  joinChoices,
  plainContent,
  textBytesOf,
} from './chunk.ts'
import { isRequested, type RelayOptions, renameReasoningText, ToolCallRepair } from './repair-chunk.ts'
import { UsageReader } from './usage.ts'
import { closingOfReply } from './write-events.ts'

type ReplyOptions = Omit<RelayOptions, 'now'>

const NO_ANSWER = { kind: 'invalid', what: 'JSON that is not a chat completion' } as const

/** Reads a JSON answer of a provider that speaks Chat, as far as it must be understood to be relayed. */
export function readReply({ body, value }: ReceivedReply, options: ReplyOptions): EncodedReply {
  if (!isObject(value)) return NO_ANSWER
  if (isObject(value.error) || typeof value.error === 'string') return { kind: 'error', error: readError(value.error) }
  const bare = hasChoices(value) ? undefined : readBareError(value)
  if (bare !== undefined) return { kind: 'error', error: bare }
  const { dialect, mint, request } = options
  const isSplit = dialect.splitsChoices && request.choices === 1 && Array.isArray(value.choices)
  const choices = isSplit ? joinChoices(value.choices as unknown[], 'message') : value.choices
  if (!Array.isArray(choices) || choices.length === 0) return NO_ANSWER
  for (const choice of choices) {
    const failed = isObject(choice) ? failureIn(choice) : undefined
    if (failed) return { kind: 'error', error: failed }
  }
  if (!choices.every(hasMessage)) return NO_ANSWER
  const usage = new UsageReader()
  usage.read(value, choices.length, dialect)
  const repaired = repairChoices(choices, options)
  if (repaired.fault !== undefined) return { kind: 'invalid', what: repaired.fault }
  /** Members that had to be repaired, as JSON; the rest goes out as the provider's own bytes. */
  const rewritten = new Map<string, string>()
  if (repaired.changed || choices !== value.choices) rewritten.set('choices', JSON.stringify(repaired.choices))
  if (typeof value.id !== 'string' || value.id === '') rewritten.set('id', JSON.stringify(mint.completionId()))
  if (value.object !== 'chat.completion') rewritten.set('object', '"chat.completion"')
  let outputBytes = 0
  for (const choice of repaired.choices) outputBytes += textBytesOf(choice.message as Fields)
  const close = (settled: SettledCharge): Buffer => closingOfReply(body, rewritten, request, settled)
  const { service_tier: serviceTier, speed, inference_geo: inferenceGeo } = value
  return { kind: 'reply', usage: usage.usage, outputBytes, served: { serviceTier, speed, inferenceGeo }, close }
}

const hasMessage = (choice: unknown): choice is Fields => isObject(choice) && isObject(choice.message)

/** Repairs the choices, and drops those that were not requested. `fault` is what cannot be repaired. */
function repairChoices(choices: readonly Fields[], options: ReplyOptions) {
  const repaired = new Map<number, Fields>()
  let fault: string | undefined
  for (const [at, choice] of choices.entries()) {
    const index = typeof choice.index === 'number' ? choice.index : at
    if (!isRequested(index, options.request.choices) || repaired.has(index)) continue
    const fresh = repairChoice(choice, index, options)
    fault ??= fresh.fault
    repaired.set(index, fresh.choice)
  }
  if (repaired.size < options.request.choices) fault ??= `${repaired.size} of ${options.request.choices} choices`
  const kept = [...repaired.values()]
  const changed = kept.length < choices.length || kept.some((choice, at) => choice !== choices[at])
  return { choices: kept, changed, fault }
}

function repairChoice(choice: Fields, index: number, options: ReplyOptions) {
  const received = choice.message as Fields
  const message = repairMessage(received, options)
  const calls = callsIn(message)
  // A JSON answer that came whole is whole, although some servers send no finish reason.
  const reason = finishReasonFrom(choice.finish_reason, calls) ?? finishReasonFrom('stop', calls)
  // The repair dropped the calls without a name, so the message as received is checked too.
  const fault =
    faultInCalls(reason, calls) ?? (message === received ? undefined : faultInCalls(reason, callsIn(received)))
  const finish = reason === 'tool_calls' && options.request.functionForm ? 'function_call' : reason
  if (message === received && finish === choice.finish_reason && index === choice.index) return { choice, fault }
  return { choice: { ...choice, index, message, finish_reason: finish }, fault }
}

function callsIn({ tool_calls: calls, function_call: called }: Fields): ToolCallRepair | undefined {
  if (!Array.isArray(calls) && !isObject(called)) return undefined
  const repair = new ToolCallRepair(() => '')
  if (Array.isArray(calls)) repair.repair(fragmentsOf(calls))
  else if (isObject(called)) repair.repair([{ index: 0, function: called }])
  return repair
}

/** Whole calls as fragments, which have an index. */
const fragmentsOf = (calls: readonly unknown[]): Fields[] =>
  calls.filter(isObject).map((call, index) => ({ ...call, index }))

function repairMessage(message: Fields, { request, mint }: ReplyOptions): Fields {
  const changes: Fields = {}
  if (message.role !== 'assistant') changes.role = 'assistant'
  if (Array.isArray(message.content)) {
    const { content, reasoning } = plainContent(message.content)
    changes.content = content
    if (reasoning !== '') changes.reasoning_content = reasoning
  } else if (message.content === undefined) changes.content = null
  const renames = typeof message.reasoning_text === 'string'
  const older =
    !request.functionForm && isObject(message.function_call) ? [{ function: message.function_call }] : undefined
  const calls = Array.isArray(message.tool_calls) && message.tool_calls.length > 0 ? message.tool_calls : older
  const repairedCalls = calls === undefined ? undefined : repairCalls(calls, mint.callId)
  if (repairedCalls !== undefined) changes.tool_calls = repairedCalls
  const left = repairedCalls ?? message.tool_calls
  // Present and empty is not absent: several clients take a list, or even null, for calls to come.
  const isEmpty = left === null || (Array.isArray(left) && left.length === 0)
  if (Object.keys(changes).length === 0 && !isEmpty && !renames && older === undefined) return message
  const repaired = { ...message, ...changes }
  if (renames) renameReasoningText(repaired)
  if (isEmpty) delete repaired.tool_calls
  if (older !== undefined) delete repaired.function_call
  return repaired
}

/** Undefined when the calls can stay as they came. */
function repairCalls(calls: readonly unknown[], mintCallId: () => string): Fields[] | undefined {
  const repair = new ToolCallRepair(mintCallId)
  const indexed = fragmentsOf(calls)
  const repaired = repair.repair(indexed) ?? indexed
  const added = new Map(repair.emptyArguments().map((fragment) => [fragment.index, fragment.function as Fields]))
  const plain = repaired.map(({ index, ...call }) =>
    added.has(index) ? { ...call, function: { ...(call.function as Fields), ...added.get(index) } } : call,
  )
  return JSON.stringify(plain) === JSON.stringify(calls) ? undefined : plain
}
