import { type Fields, isObject } from '../../lib/is-object.ts'
import type { MintIds } from '../mint-ids.ts'
import { finishWord } from './finish-reason.ts'
import { ToolCallMender } from './mend-tool-calls.ts'
import { plainContent, saidBy } from './said-words.ts'

/**
 * Makes the chunks of a stream what real clients need, where a server's are not: one id and time from the first to the
 * last, a role before anything else, words as strings, whole tool calls, a finish reason they know. It changes the
 * parsed chunk in place and says whether it did; a stream that is as it should be passes as its own bytes.
 */
export interface ChunkMender {
  mend(chunk: Fields): boolean
  /** More arguments of the call that was spoken of last, in frames that need no mending. */
  goOn(text: string): void
}

interface ChoiceState {
  spoken: boolean
  readonly calls: ToolCallMender
}

export function createChunkMender(mint: Pick<MintIds, 'completionId' | 'callId'>, now: () => number): ChunkMender {
  let id: string | undefined
  let created: number | undefined
  const choices = new Map<number, ChoiceState>()
  let last: ChoiceState | undefined

  const stateOf = (index: number): ChoiceState => {
    const known = choices.get(index) ?? { spoken: false, calls: new ToolCallMender(mint.callId) }
    choices.set(index, known)
    return known
  }

  return {
    goOn: (text) => last?.calls.goOn(text),
    mend(chunk) {
      id ??= typeof chunk.id === 'string' && chunk.id !== '' ? chunk.id : mint.completionId()
      created ??= typeof chunk.created === 'number' ? chunk.created : Math.floor(now() / 1000)
      let changed = set(chunk, 'id', id)
      changed = set(chunk, 'created', created) || changed
      changed = set(chunk, 'object', 'chat.completion.chunk') || changed
      if (!Array.isArray(chunk.choices)) return changed
      for (const [at, choice] of chunk.choices.entries()) {
        if (!isObject(choice)) continue
        if (typeof choice.index !== 'number') changed = set(choice, 'index', at) || changed
        last = stateOf(choice.index as number)
        changed = mendChoice(last, choice) || changed
      }
      return changed
    },
  }
}

function mendChoice(state: ChoiceState, choice: Fields): boolean {
  let changed = isObject(choice.delta) ? false : set(choice, 'delta', saidBy(choice))
  // Beside a delta it is the answer so far, again and again; the SDK's helper would add each to what it has.
  changed = remove(choice, 'message') || changed
  const delta = choice.delta as Fields
  changed = mendDelta(state, delta) || changed
  const finish = finishWord(choice.finish_reason, state.calls)
  if (finish !== choice.finish_reason && (finish !== null || choice.finish_reason === '')) {
    changed = set(choice, 'finish_reason', finish) || changed
  }
  return changed
}

function mendDelta(state: ChoiceState, delta: Fields): boolean {
  let changed = false
  if (Array.isArray(delta.content)) {
    const { content, reasoning } = plainContent(delta.content)
    if (reasoning !== '') set(delta, 'reasoning_content', reasoning)
    changed = set(delta, 'content', content) || changed
  }
  if (Array.isArray(delta.tool_calls)) {
    const mended = state.calls.mend(delta.tool_calls)
    if (mended !== undefined && mended.length > 0) changed = set(delta, 'tool_calls', mended) || changed
    if (delta.tool_calls.length === 0 || mended?.length === 0) changed = remove(delta, 'tool_calls') || changed
  } else if (delta.tool_calls === null) changed = remove(delta, 'tool_calls') || changed
  // The role is said once, by the first chunk; some servers never do, and clients throw at the end of such a stream.
  if (!state.spoken && delta.role !== 'assistant') changed = set(delta, 'role', 'assistant') || changed
  state.spoken = true
  if (delta.role === '') changed = remove(delta, 'role') || changed
  return changed
}

function set(fields: Fields, name: string, value: unknown): boolean {
  if (fields[name] === value) return false
  fields[name] = value
  return true
}

function remove(fields: Fields, name: string): boolean {
  if (!(name in fields)) return false
  delete fields[name]
  return true
}
