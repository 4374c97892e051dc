import { stringOf } from '../../lib/text.ts'
import { type Fields, isObject } from '../../lib/types.ts'
import type { ChatRequest } from '../../model/turn.ts'
import { JsonProgress } from '../json/syntax.ts'
import { CALLS_MAX, type MintIds } from '../shared/codec-types.ts'
import { BROKEN_ARGUMENTS, TOO_MANY_CALLS } from '../tools/tool-names.ts'
import {
  type CallsSoFar,
  deltaOf,
  failureIn,
  faultInCalls,
  finishReasonFrom,
  hasContent,
  joinChoices,
  plainContent,
} from './chunk.ts'
import type { ChatDialect } from './dialects.ts'
import { argumentsText } from './write-messages.ts'

/** What the relay of an answer depends on, besides the answer. */
export interface RelayOptions {
  readonly request: Pick<ChatRequest, 'model' | 'wantsUsage' | 'choices' | 'functionForm'>
  readonly dialect: ChatDialect
  readonly mint: Pick<MintIds, 'completionId' | 'callId'>
  /** Wall time in milliseconds, for a server that sends no `created`. */
  readonly now: () => number
}

interface ChoiceState {
  hasRole: boolean
  hasContent: boolean
  /** The finish reason in the server's words; undefined until there is one. */
  finish: string | undefined
  /** Content has followed a finish reason, so the last one is right and not the first. */
  wentOn: boolean
  /** Undefined until there is a call. */
  calls: ToolCallRepair | undefined
}

const newChoice = (): ChoiceState => ({
  hasRole: false,
  hasContent: false,
  finish: undefined,
  wentOn: false,
  calls: undefined,
})

const CHUNK = 'chat.completion.chunk'

/**
 * Makes the chunks of a stream what clients need, where a server's are not: one id and time from the first to the last, a role
 * before anything else, text as strings, whole tool calls, a finish reason they know, and only the choices that were requested.
 * It changes the parsed chunk in place and says whether it did; a correct stream passes as its own bytes.
 */
export class ChunkRepair {
  /** What is wrong with the answer and cannot be repaired. */
  fault: string | undefined
  /** Every requested choice has a finish reason. Content may follow it all the same. */
  finished = false
  /** Content of a choice has followed its finish reason. */
  wentOn = false
  /** The last one, in the provider's words. */
  finishReason: string | undefined = undefined
  readonly #options: RelayOptions
  readonly #joins: boolean
  readonly #states = new Map<number, ChoiceState>()
  #id: string | undefined
  #created: number | undefined
  #last: ChoiceState | undefined

  constructor(options: RelayOptions) {
    this.#options = options
    this.#joins = options.dialect.splitsChoices && options.request.choices === 1
  }

  /** More arguments of the last call, in frames that need no repair. */
  addArguments(text: string): void {
    this.#last?.calls?.addArguments(text)
    if (this.#last?.calls?.isBroken) this.fault ??= BROKEN_ARGUMENTS
  }

  repair(chunk: Fields): boolean {
    const { mint, now, request } = this.#options
    this.#id ??= typeof chunk.id === 'string' && chunk.id !== '' ? chunk.id : mint.completionId()
    this.#created ??= typeof chunk.created === 'number' ? chunk.created : Math.floor(now() / 1000)
    let changed = chunk.id !== this.#id || chunk.created !== this.#created || chunk.object !== CHUNK
    if (changed) Object.assign(chunk, { id: this.#id, created: this.#created, object: CHUNK })
    const listed: readonly unknown[] = Array.isArray(chunk.choices) ? chunk.choices : []
    const choices = this.#joins ? joinChoices(listed, 'delta') : listed
    const kept: Fields[] = []
    for (let at = 0; at < choices.length; at++) {
      const choice = choices[at]
      if (!isObject(choice)) continue
      if (typeof choice.index !== 'number') changed = set(choice, 'index', at) || changed
      const index = choice.index as number
      if (!isRequested(index, request.choices)) continue
      const state = this.#states.get(index) ?? newChoice()
      this.#states.set(index, state)
      const delta = deltaOf(choice, { isBehindContent: state.hasContent })
      state.hasContent ||= hasContent(delta)
      if (state.finish !== undefined) {
        if (!hasContent(delta)) {
          if (state.wentOn) this.#readFinish(state, choice)
          continue
        }
        state.wentOn = true
        this.wentOn = true
      }
      kept.push(choice)
      this.#last = state
      if (choice.delta !== delta) changed = set(choice, 'delta', delta)
      changed = this.#repairChoice(state, choice) || changed
      if (state.calls?.isBroken) this.fault ??= BROKEN_ARGUMENTS
      if (state.calls?.areTooMany) this.fault ??= TOO_MANY_CALLS
    }
    if (kept.length < choices.length || choices !== listed) changed = set(chunk, 'choices', kept)
    return changed
  }

  #repairChoice(state: ChoiceState, choice: Fields): boolean {
    // Beside a delta, `message` repeats the answer so far; the SDK's helper would add each to what it has.
    let changed = choice.message === undefined ? false : remove(choice, 'message')
    changed = this.#repairDelta(state, choice.delta as Fields) || changed
    if (choice.finish_reason === '') changed = set(choice, 'finish_reason', null)
    this.#readFinish(state, choice)
    return changed
  }

  /** Remembers a finish reason. The chunk keeps the server's word until `writeFinish`. */
  #readFinish(state: ChoiceState, choice: Fields): void {
    if (hasFinish(choice) && failureIn(choice) === undefined) {
      state.finish = choice.finish_reason
      const finish = finishReasonFrom(state.finish, state.calls)
      this.finishReason = finish ?? undefined
      if (finish === 'tool_calls' || state.calls !== undefined) this.fault ??= faultInCalls(finish, state.calls)
    } else if (state.finish === undefined) return
    this.#countFinished()
  }

  /** At the end mark of the stream: a choice whose calls are whole has ended, although its server did not say so. */
  finishCalls(): void {
    for (const state of this.#states.values()) if (state.calls?.areWhole) state.finish ??= 'tool_calls'
    this.#countFinished()
  }

  #countFinished(): void {
    let finished = 0
    // A call that began behind the finish reason may have no name yet.
    for (const { finish, calls } of this.#states.values())
      if (finish !== undefined && faultInCalls(finishReasonFrom(finish, calls), calls) === undefined) finished += 1
    this.finished = finished >= this.#options.request.choices
  }

  /** Writes the finish reason of a choice that is over, as clients know it. */
  writeFinish(choice: Fields): boolean {
    const { functionForm } = this.#options.request
    const { finish: received, calls } = this.#states.get(choice.index as number)!
    const finish = finishReasonFrom(received, calls)
    let changed = false
    // A call that ends without arguments gets empty ones.
    const fragments = calls?.emptyArguments({ isTruncated: finish !== 'tool_calls' })
    if (fragments !== undefined && fragments.length > 0) {
      const delta = choice.delta as Fields
      changed = functionForm
        ? set(delta, 'function_call', { ...(delta.function_call as Fields), arguments: NO_ARGUMENTS })
        : set(delta, 'tool_calls', [...(Array.isArray(delta.tool_calls) ? delta.tool_calls : []), ...fragments])
    }
    return set(choice, 'finish_reason', finish === 'tool_calls' && functionForm ? 'function_call' : finish) || changed
  }

  /** The ends of the choices whose finish reason was in none of these chunks. */
  writeEnds(written: ReadonlySet<unknown>): Fields[] {
    const indexes = [...this.#states.keys()].filter((index) => !written.has(index)).toSorted((a, b) => a - b)
    return indexes.map((index) => {
      const choice: Fields = { index, delta: {}, logprobs: null, finish_reason: null }
      this.writeFinish(choice)
      return choice
    })
  }

  #repairDelta(state: ChoiceState, delta: Fields): boolean {
    let changed = false
    if (Array.isArray(delta.content)) {
      const { content, reasoning } = plainContent(delta.content)
      if (reasoning !== '') set(delta, 'reasoning_content', reasoning)
      changed = set(delta, 'content', content)
    }
    if (typeof delta.reasoning_text === 'string') changed = renameReasoningText(delta) || changed
    if (isObject(delta.function_call)) changed = this.#takeFunctionCall(state, delta, delta.function_call) || changed
    if (Array.isArray(delta.tool_calls)) {
      const repaired = this.#callsOf(state).repair(delta.tool_calls)
      if (repaired !== undefined && repaired.length > 0) changed = set(delta, 'tool_calls', repaired)
      if (delta.tool_calls.length === 0 || repaired?.length === 0) changed = remove(delta, 'tool_calls')
    } else if (delta.tool_calls === null) changed = remove(delta, 'tool_calls')
    // The first chunk has the role. Some servers never send one, and clients throw at the end of such a stream.
    if (!state.hasRole && delta.role !== 'assistant') changed = set(delta, 'role', 'assistant')
    state.hasRole = true
    if (delta.role === '') changed = remove(delta, 'role')
    return changed
  }

  /** Turns a `function_call` into a tool call, unless the client declared `functions`. */
  #takeFunctionCall(state: ChoiceState, delta: Fields, called: Fields): boolean {
    const fragments = [{ index: 0, function: called }]
    if (this.#options.request.functionForm) {
      this.#callsOf(state).repair(fragments)
      return false
    }
    if (!Array.isArray(delta.tool_calls) || delta.tool_calls.length === 0) delta.tool_calls = fragments
    return remove(delta, 'function_call')
  }

  #callsOf(state: ChoiceState): ToolCallRepair {
    state.calls ??= new ToolCallRepair(this.#options.mint.callId)
    return state.calls
  }
}

export const hasFinish = (choice: Fields): choice is Fields & { finish_reason: string } =>
  typeof choice.finish_reason === 'string' && choice.finish_reason !== ''

export const isRequested = (index: unknown, choices: number): boolean =>
  Number.isInteger(index) && (index as number) >= 0 && (index as number) < choices

/** Copilot's name for `reasoning_content`, which no client reads. */
export function renameReasoningText(delta: Fields): boolean {
  delta.reasoning_content ??= delta.reasoning_text
  return remove(delta, 'reasoning_text')
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

interface OpenCall {
  /** Its place among the calls that the client sees; undefined until it is one of them. */
  index: number | undefined
  readonly id: string
  /** The server's own, or ''. */
  readonly upstreamId: string
  name: string
  /** Arguments that came before the name, which the first fragment must carry. */
  early: string
  earlyBytes: number
  /** A custom tool, whose input is free text and not JSON. */
  isCustom: boolean
  readonly progress: JsonProgress
}

/** Clients parse the arguments, and an empty string is not JSON. */
const NO_ARGUMENTS = '{}'

/**
 * Makes tool calls what clients need: an index from 0 in the order in which they begin, an id, type and name in the first
 * fragment, arguments always a string. Servers leave out each of these somewhere; correct fragments are not touched.
 */
export class ToolCallRepair {
  readonly #mintCallId: () => string
  readonly #calls: OpenCall[] = []
  // A provider may begin as many calls as fit into a frame, so each is found without a search through the others.
  readonly #ids = new Set<string>()
  readonly #byUpstreamId = new Map<string, OpenCall>()
  readonly #byUpstreamIndex = new Map<number, OpenCall>()
  #last: OpenCall | undefined
  #indexed = 0
  /** Bytes of arguments that wait for the name of their call. */
  waitingBytes = 0
  /** The arguments of a call are not JSON, and no more text can make them valid. */
  isBroken = false

  constructor(mintCallId: () => string) {
    this.#mintCallId = mintCallId
  }

  /** The fragments of one delta; undefined when they can stay as they came. */
  repair(fragments: readonly unknown[]): Fields[] | undefined {
    const repaired = fragments.filter(isObject).flatMap((fragment) => this.#repair(fragment))
    return repaired.length === fragments.length && repaired.every((fragment, at) => fragment === fragments[at])
      ? undefined
      : repaired
  }

  /** More arguments of the last call, which need no repair. */
  addArguments(text: string): void {
    if (this.#last !== undefined) this.#feed(this.#last, text)
  }

  /** Fragments that give `{}` to the calls that ended without arguments; in a truncated answer the last call may have lost its own. */
  emptyArguments({ isTruncated = false } = {}): Fields[] {
    return this.#calls.slice(0, isTruncated ? -1 : undefined).flatMap((call) => {
      if (call.index === undefined || call.isCustom || call.progress.state !== 'empty') return []
      this.#feed(call, NO_ARGUMENTS)
      return [{ index: call.index, function: { arguments: NO_ARGUMENTS } }]
    })
  }

  callsSoFar(): CallsSoFar {
    // A call that waits for a name at the end of the answer waits in vain; a fragment without anything in it is no call.
    const isNameless = ({ isCustom, name, upstreamId, early }: OpenCall) =>
      !isCustom && name === '' && (upstreamId !== '' || early !== '')
    if (this.#calls.some(isNameless)) return 'nameless'
    // Only the last call can be truncated.
    const incomplete = this.#calls.findIndex(({ progress }) => progress.state === 'incomplete')
    if (this.isBroken || (incomplete !== -1 && incomplete < this.#calls.length - 1)) return 'broken'
    if (incomplete !== -1) return 'truncated'
    return this.#indexed === 0 ? 'none' : 'whole'
  }

  /** All of them are looked at with each finish reason. */
  get areTooMany(): boolean {
    return this.#calls.length > CALLS_MAX
  }

  /** There are calls, and all have the whole of their arguments. */
  get areWhole(): boolean {
    return (
      this.#calls.length > 0 &&
      this.#calls.every(({ index, progress: { state } }) => index !== undefined && state === 'whole')
    )
  }

  #repair(fragment: Fields): Fields[] {
    const call = this.#callOf(fragment)
    this.#last = call
    const isCustom = fragment.type === 'custom' || isObject(fragment.custom)
    const name = nameOf(fragment)
    const text = argumentsText(rawArguments(fragment))
    // A call that never gets a name leaves no gap in the indexes.
    if (isCustom || name !== '') call.index ??= this.#indexed++
    if (isCustom) {
      // Free text comes from the few servers that know custom tools, and they send it correctly.
      call.isCustom = true
      return [fragment.index === call.index ? fragment : { ...fragment, index: call.index }]
    }
    this.#feed(call, text)
    if (call.name !== '') return [laterFragment(call, fragment, text)]
    // Clients cannot show a call without a name: what comes before the name waits.
    if (name === '') {
      call.early += text
      call.earlyBytes += Buffer.byteLength(text)
      this.waitingBytes += Buffer.byteLength(text)
      return []
    }
    call.name = name
    const first = firstFragment(call, fragment, call.early + text)
    this.waitingBytes -= call.earlyBytes
    call.early = ''
    call.earlyBytes = 0
    return [first]
  }

  #feed(call: OpenCall, text: string): void {
    call.progress.feed(text)
    if (call.progress.state === 'broken') this.isBroken = true
  }

  /**
   * The call that a fragment belongs to. An index that comes again with a name is a new call where the id is another one, or where
   * there is none and the arguments so far are a whole object, which another one cannot go on: Gemini's Chat endpoint gives index 0
   * and an empty id to each of several calls.
   */
  #callOf(fragment: Fields): OpenCall {
    const id = stringOf(fragment.id) ?? ''
    const isNamed = nameOf(fragment) !== ''
    const known =
      typeof fragment.index === 'number'
        ? this.#byUpstreamIndex.get(fragment.index)
        : ((id === '' ? undefined : this.#byUpstreamId.get(id)) ?? (isNamed ? undefined : this.#calls.at(-1)))
    if (known === undefined) return this.#open(fragment, id)
    const isAnother =
      id === ''
        ? known.progress.state === 'whole' && beginsObject(argumentsText(rawArguments(fragment)))
        : id !== known.upstreamId
    return isNamed && isAnother ? this.#open(fragment, id) : known
  }

  #open({ index }: Fields, upstreamId: string): OpenCall {
    // Results are paired by id, so two calls may not share one.
    const isTaken = this.#ids.has(upstreamId)
    const call: OpenCall = {
      index: undefined,
      id: upstreamId === '' || isTaken ? this.#mintCallId() : upstreamId,
      ...{ upstreamId, name: '', early: '', earlyBytes: 0, isCustom: false },
      progress: new JsonProgress(),
    }
    this.#calls.push(call)
    this.#ids.add(call.id)
    if (!this.#byUpstreamId.has(upstreamId)) this.#byUpstreamId.set(upstreamId, call)
    if (typeof index === 'number') this.#byUpstreamIndex.set(index, call)
    return call
  }
}

function firstFragment({ index, id, name }: OpenCall, fragment: Fields, text: string): Fields {
  const isCorrect =
    fragment.index === index && fragment.id === id && fragment.type === 'function' && rawArguments(fragment) === text
  if (isCorrect) return fragment
  const details = isObject(fragment.function) ? fragment.function : {}
  return { ...fragment, index, id, type: 'function', function: { ...details, name, arguments: text } }
}

function laterFragment({ index, id }: OpenCall, fragment: Fields, text: string): Fields {
  const raw = rawArguments(fragment)
  const isCorrect =
    fragment.index === index &&
    (fragment.id === undefined || fragment.id === null || fragment.id === id) &&
    (raw === text || raw === undefined) &&
    nameOf(fragment) === ''
  return isCorrect ? fragment : { index, function: { arguments: text } }
}

function nameOf({ function: called, custom }: Fields): string {
  const named = isObject(called) ? called : custom
  return isObject(named) ? (stringOf(named.name) ?? '') : ''
}

const beginsObject = (text: string): boolean => text.trimStart().startsWith('{')

const rawArguments = (fragment: Fields): unknown =>
  isObject(fragment.function) ? fragment.function.arguments : undefined
