import { type Fields, isObject } from '../../lib/is-object.ts'
import { faultInCalls, finishWord } from './finish-reason.ts'
import { isAskedFor, takeReasoningText } from './mend-chunk.ts'
import { ToolCallMender } from './mend-tool-calls.ts'
import { plainContent } from './said-words.ts'

export interface MendedChoices {
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
export function mendChoices(choices: readonly Fields[], asked: Requested): MendedChoices {
  const mended = new Map<number, Fields>()
  let fault: string | undefined
  for (const [at, choice] of choices.entries()) {
    const index = typeof choice.index === 'number' ? choice.index : at
    if (!isAskedFor(index, asked.choices) || mended.has(index)) continue
    const fresh = mendChoice(choice, index, asked)
    fault ??= fresh.fault
    mended.set(index, fresh.choice)
  }
  if (mended.size < asked.choices) fault ??= `${mended.size} of ${asked.choices} choices`
  const kept = [...mended.values()]
  const changed = kept.length < choices.length || kept.some((choice, at) => choice !== choices[at])
  return { choices: kept, changed, fault }
}

function mendChoice(choice: Fields, index: number, asked: Requested) {
  const message = isObject(choice.message) ? choice.message : {}
  const mended = mendMessage(message, asked)
  // A JSON answer that came whole is whole, although some servers do not say why it ended.
  const calls = callsIn(mended)
  const word = finishWord(choice.finish_reason, calls) ?? finishWord('stop', calls)
  // A call without a name is none of them any more.
  const fault = faultInCalls(word, calls) ?? faultInCalls(word, callsIn(message))
  const finish = word === 'tool_calls' && asked.functionForm ? 'function_call' : word
  if (mended === choice.message && finish === choice.finish_reason && index === choice.index) return { choice, fault }
  return { choice: { ...choice, index, message: mended, finish_reason: finish }, fault }
}

function callsIn({ tool_calls: calls, function_call: called }: Fields): ToolCallMender {
  const mender = new ToolCallMender(() => '')
  if (Array.isArray(calls)) mender.mend(fragmentsOf(calls))
  else if (isObject(called)) mender.mend([{ index: 0, function: called }])
  return mender
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
  const mended = { ...message, ...changes }
  if (renames) takeReasoningText(mended)
  if (empty) delete mended.tool_calls
  if (older !== undefined) delete mended.function_call
  return mended
}

function wholeCalls(calls: readonly unknown[], mintCallId: () => string): Fields[] | undefined {
  const mender = new ToolCallMender(mintCallId)
  const indexed = fragmentsOf(calls)
  const mended = mender.mend(indexed) ?? indexed
  const without = new Map(mender.withoutArguments().map((fragment) => [fragment.index, fragment.function]))
  const plain = mended.map(({ index, ...call }) =>
    without.has(index)
      ? { ...call, function: { ...(call.function as Fields), ...(without.get(index) as Fields) } }
      : call,
  )
  return JSON.stringify(plain) === JSON.stringify(calls) ? undefined : plain
}
