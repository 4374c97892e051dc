import { type Fields, isObject } from '../../lib/is-object.ts'
import { finishWord } from './finish-reason.ts'
import { ToolCallMender } from './mend-tool-calls.ts'
import { plainContent } from './said-words.ts'

/** The same for a JSON answer: its choices as clients need them, or undefined when they can stay as they came. */
export function mendChoices(choices: readonly Fields[], mintCallId: () => string): Fields[] | undefined {
  let changed = false
  const mended = choices.map((choice, at) => {
    const fresh = mendChoice(choice, at, mintCallId)
    if (fresh !== choice) changed = true
    return fresh
  })
  return changed ? mended : undefined
}

function mendChoice(choice: Fields, at: number, mintCallId: () => string): Fields {
  const message = isObject(choice.message) ? choice.message : {}
  const mendedMessage = mendMessage(message, mintCallId)
  // A JSON answer that came whole is whole, although some servers do not say why it ended.
  const calls = callsIn(mendedMessage)
  const finish = finishWord(choice.finish_reason, calls) ?? finishWord('stop', calls)
  const index = typeof choice.index === 'number' ? choice.index : at
  if (mendedMessage === choice.message && finish === choice.finish_reason && index === choice.index) return choice
  return { ...choice, index, message: mendedMessage, finish_reason: finish }
}

function callsIn({ tool_calls: calls }: Fields): ToolCallMender {
  const mender = new ToolCallMender(() => '')
  if (Array.isArray(calls)) mender.mend(fragmentsOf(calls))
  return mender
}

/** Whole calls are fragments that come all at once; the index belongs to streams only. */
const fragmentsOf = (calls: readonly unknown[]): Fields[] =>
  calls.filter(isObject).map((call, index) => ({ ...call, index }))

function mendMessage(message: Fields, mintCallId: () => string): Fields {
  const changes: Fields = {}
  if (message.role !== 'assistant') changes.role = 'assistant'
  if (Array.isArray(message.content)) {
    const { content, reasoning } = plainContent(message.content)
    changes.content = content
    if (reasoning !== '') changes.reasoning_content = reasoning
  } else if (message.content === undefined) changes.content = null
  const calls = message.tool_calls
  const mendedCalls = Array.isArray(calls) ? wholeCalls(calls, mintCallId) : undefined
  if (mendedCalls !== undefined) changes.tool_calls = mendedCalls
  const left = mendedCalls ?? calls
  // Present and empty is not absent: several clients take a list, or even null, for calls to come.
  const empty = left === null || (Array.isArray(left) && left.length === 0)
  if (Object.keys(changes).length === 0 && !empty) return message
  const mended = { ...message, ...changes }
  if (empty) delete mended.tool_calls
  return mended
}

function wholeCalls(calls: readonly unknown[], mintCallId: () => string): Fields[] | undefined {
  const mender = new ToolCallMender(mintCallId)
  const indexed = fragmentsOf(calls)
  const mended = mender.mend(indexed) ?? indexed
  const plain = mended.map(({ index: _index, ...call }) => call)
  return JSON.stringify(plain) === JSON.stringify(calls) ? undefined : plain
}
