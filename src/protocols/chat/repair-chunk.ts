import { stringOf } from '../../lib/text.ts'
import { type Fields, isObject } from '../../lib/types.ts'
import { JsonProgress } from '../json/scan-json.ts'
import type { MintIds } from '../shared/codec-types.ts'
import { BROKEN_ARGUMENTS, WORDS_BEHIND_END } from '../tools/tool-names.ts'
import {
  type CallsSoFar,
  callsBegun,
  faultInCalls,
  finishReasonFrom,
  joinChoices,
  plainContent,
  saidBy,
  textBytesOf,
} from './chunk.ts'
import type { ChatDialect } from './dialects.ts'
import { argumentsText } from './write-messages.ts'

/**
 * Makes the chunks of a stream what real clients need, where a server's are not: one id and time from the first to the
 * last, a role before anything else, words as strings, whole tool calls, a finish reason they know, and only the choices that
 * were requested. It changes the parsed chunk in place and says whether it did; a stream that is as it should be passes as
 * its own bytes.
 */
export interface ChunkRepair {
  repair(chunk: Fields): boolean
  /** More arguments of the call that was spoken of last, in frames that need no mending. */
  goOn(text: string): void
  /** What is wrong with the answer and cannot be repaired. */
  readonly fault: string | undefined
  /** Every requested choice has a finish reason. */
  readonly finished: boolean
}

interface ChunkRepairOptions {
  readonly mint: Pick<MintIds, 'completionId' | 'callId'>
  readonly now: () => number
  /** How many choices the client requested. */
  readonly choices: number
  /** The client declared `functions`, and expects its call as `function_call`. */
  readonly functionForm: boolean
  readonly dialect: Pick<ChatDialect, 'splitsChoices'>
}

interface ChoiceState {
  spoken: boolean
  finished: boolean
  readonly calls: ToolCallRepair
}

export function createChunkRepair(options: ChunkRepairOptions): ChunkRepair {
  const { mint } = options
  const joins = options.dialect.splitsChoices && options.choices === 1
  let id: string | undefined
  let created: number | undefined
  const states = new Map<number, ChoiceState>()
  let last: ChoiceState | undefined
  let finishedCount = 0
  let fault: string | undefined

  const stateOf = (index: number): ChoiceState => {
    const known = states.get(index) ?? { spoken: false, finished: false, calls: new ToolCallRepair(mint.callId) }
    states.set(index, known)
    return known
  }

  /** Whether the choice goes to the client. */
  const keeps = (choice: Fields, index: number): boolean => {
    if (!isRequested(index, options.choices)) return false
    if (!stateOf(index).finished) return true
    const said = saidBy(choice)
    if (textBytesOf(said) > 0 || callsBegun(said) > 0) fault ??= WORDS_BEHIND_END
    return false
  }

  const mendChoice = (state: ChoiceState, choice: Fields): boolean => {
    let changed = isObject(choice.delta) ? false : set(choice, 'delta', saidBy(choice))
    // Beside a delta it is the answer so far, again and again; the SDK's helper would add each to what it has.
    changed = remove(choice, 'message') || changed
    const delta = choice.delta as Fields
    changed = mendDelta(state, delta, options.functionForm) || changed
    const finish = finishReasonFrom(choice.finish_reason, state.calls)
    if (finish === null) return choice.finish_reason === '' ? set(choice, 'finish_reason', null) : changed
    state.finished = true
    finishedCount += 1
    fault ??= faultInCalls(finish, state.calls)
    changed = sayWithoutArguments(state, delta, { ...options, isCut: finish !== 'tool_calls' }) || changed
    const word = finish === 'tool_calls' && options.functionForm ? 'function_call' : finish
    return set(choice, 'finish_reason', word) || changed
  }

  return {
    get fault() {
      return fault
    },
    get finished() {
      return finishedCount >= options.choices
    },
    goOn(text) {
      last?.calls.goOn(text)
      if (last?.calls.isBroken) fault ??= BROKEN_ARGUMENTS
    },
    repair(chunk) {
      id ??= typeof chunk.id === 'string' && chunk.id !== '' ? chunk.id : mint.completionId()
      created ??= typeof chunk.created === 'number' ? chunk.created : Math.floor(options.now() / 1000)
      let changed = set(chunk, 'id', id)
      changed = set(chunk, 'created', created) || changed
      changed = set(chunk, 'object', 'chat.completion.chunk') || changed
      const listed: readonly unknown[] = Array.isArray(chunk.choices) ? chunk.choices : []
      const choices = joins ? joinChoices(listed, 'delta') : listed
      const kept: Fields[] = []
      for (const [at, choice] of choices.entries()) {
        if (!isObject(choice)) continue
        if (typeof choice.index !== 'number') changed = set(choice, 'index', at) || changed
        const index = choice.index as number
        if (!keeps(choice, index)) continue
        kept.push(choice)
        last = stateOf(index)
        changed = mendChoice(last, choice) || changed
        if (last.calls.isBroken) fault ??= BROKEN_ARGUMENTS
      }
      if (kept.length < choices.length || choices !== listed) changed = set(chunk, 'choices', kept)
      return changed
    },
  }
}

/** Choices that the client did not request are dropped. */
export const isRequested = (index: unknown, choices: number): boolean =>
  Number.isInteger(index) && (index as number) >= 0 && (index as number) < choices

function mendDelta(state: ChoiceState, delta: Fields, functionForm: boolean): boolean {
  let changed = false
  if (Array.isArray(delta.content)) {
    const { content, reasoning } = plainContent(delta.content)
    if (reasoning !== '') set(delta, 'reasoning_content', reasoning)
    changed = set(delta, 'content', content) || changed
  }
  if (typeof delta.reasoning_text === 'string') changed = takeReasoningText(delta) || changed
  changed = takeFunctionCall(state, delta, functionForm) || changed
  if (Array.isArray(delta.tool_calls)) {
    const repaired = state.calls.repair(delta.tool_calls)
    if (repaired !== undefined && repaired.length > 0) changed = set(delta, 'tool_calls', repaired) || changed
    if (delta.tool_calls.length === 0 || repaired?.length === 0) changed = remove(delta, 'tool_calls') || changed
  } else if (delta.tool_calls === null) changed = remove(delta, 'tool_calls') || changed
  // The role is said once, by the first chunk; some servers never do, and clients throw at the end of such a stream.
  if (!state.spoken && delta.role !== 'assistant') changed = set(delta, 'role', 'assistant') || changed
  state.spoken = true
  if (delta.role === '') changed = remove(delta, 'role') || changed
  return changed
}

/** Copilot's name for `reasoning_content`, which no client looks for. */
export function takeReasoningText(said: Fields): boolean {
  said.reasoning_content ??= said.reasoning_text
  return remove(said, 'reasoning_text')
}

/** Turns a `function_call` into a tool call, unless the client declared `functions`. */
function takeFunctionCall({ calls }: ChoiceState, delta: Fields, functionForm: boolean): boolean {
  const { function_call: called, tool_calls } = delta
  if (!isObject(called)) return false
  const fragments = [{ index: 0, function: called }]
  if (functionForm) {
    calls.repair(fragments)
    return false
  }
  if (!Array.isArray(tool_calls) || tool_calls.length === 0) delta.tool_calls = fragments
  return remove(delta, 'function_call')
}

/** A call that has come to its end without arguments has none. */
function sayWithoutArguments(
  { calls }: ChoiceState,
  delta: Fields,
  { functionForm, isCut }: { readonly functionForm: boolean; readonly isCut: boolean },
): boolean {
  const fragments = calls.withoutArguments({ isCut })
  if (fragments.length === 0) return false
  if (functionForm) return set(delta, 'function_call', { ...(delta.function_call as Fields), arguments: '{}' })
  const said = Array.isArray(delta.tool_calls) ? delta.tool_calls : []
  return set(delta, 'tool_calls', [...said, ...fragments])
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
  /** Its place among the calls that the client is told of; undefined until it is one of them. */
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
  readonly written: JsonProgress
}

/** Clients parse the arguments, and an empty string is not JSON. */
const NO_ARGUMENTS = '{}'

/**
 * Makes tool calls what clients need: an index from 0 in the order in which they are told, an id, type and name in the
 * first fragment, arguments always a string. Servers leave out each of these somewhere; what is as it should be is not touched.
 */
export class ToolCallRepair {
  readonly #mintCallId: () => string
  readonly #calls: OpenCall[] = []
  // A provider may begin as many calls as fit into a frame: each is found without a look at the others.
  readonly #ids = new Set<string>()
  readonly #byUpstreamId = new Map<string, OpenCall>()
  readonly #byUpstreamIndex = new Map<number, OpenCall>()
  #last: OpenCall | undefined
  #toldCount = 0
  #waitingBytes = 0
  #isBroken = false

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

  /** More arguments of the call that was spoken of last, which need no mending. */
  goOn(text: string): void {
    if (this.#last !== undefined) this.#write(this.#last, text)
  }

  /** The arguments of a call are not JSON, and no more text can make them valid. */
  get isBroken(): boolean {
    return this.#isBroken
  }

  /**
   * Of calls that have come to their end without arguments: the fragments that say that there are none. Those of the last call
   * of an answer that was cut are not known.
   */
  withoutArguments({ isCut = false } = {}): Fields[] {
    return this.#calls.slice(0, isCut ? -1 : undefined).flatMap((call) => {
      if (call.index === undefined || call.isCustom || call.written.state !== 'empty') return []
      this.#write(call, NO_ARGUMENTS)
      return [{ index: call.index, function: { arguments: NO_ARGUMENTS } }]
    })
  }

  callsSoFar(): CallsSoFar {
    // What waits for a name at the end of the answer waits in vain.
    if (this.#calls.some(isNameless)) return 'nameless'
    // What is cut is the last one.
    const cut = this.#calls.findIndex(({ written }) => written.state === 'cut')
    if (this.#isBroken || (cut !== -1 && cut < this.#calls.length - 1)) return 'broken'
    if (cut !== -1) return 'cut'
    return this.#toldCount === 0 ? 'none' : 'whole'
  }

  /** Bytes of arguments that wait for the name of their call. */
  waitingBytes(): number {
    return this.#waitingBytes
  }

  #repair(fragment: Fields): Fields[] {
    const call = this.#callOf(fragment)
    this.#last = call
    if (isCustom(fragment)) call.isCustom = true
    else this.#write(call, argumentsOf(fragment))
    // One that never gets a name leaves no gap.
    if (isCustom(fragment) || nameOf(fragment) !== '') call.index ??= this.#toldCount++
    const before = call.earlyBytes
    const written = mendFragment(call, fragment)
    this.#waitingBytes += call.earlyBytes - before
    return written
  }

  #write(call: OpenCall, text: string): void {
    call.written.feed(text)
    if (call.written.state === 'broken') this.#isBroken = true
  }

  /** Which call a fragment belongs to. An index that comes again with another id and a name is a new call. */
  #callOf(fragment: Fields): OpenCall {
    const id = stringOf(fragment.id) ?? ''
    const isNamed = nameOf(fragment) !== ''
    const known =
      typeof fragment.index === 'number'
        ? this.#byUpstreamIndex.get(fragment.index)
        : ((id === '' ? undefined : this.#byUpstreamId.get(id)) ?? (isNamed ? undefined : this.#calls.at(-1)))
    const startsAnother = known !== undefined && id !== '' && id !== known.upstreamId && isNamed
    return known === undefined || startsAnother ? this.#open(fragment, id) : known
  }

  #open({ index }: Fields, upstreamId: string): OpenCall {
    // Results are paired by id, so two calls may not share one.
    const isTaken = this.#ids.has(upstreamId)
    const call: OpenCall = {
      index: undefined,
      id: upstreamId === '' || isTaken ? this.#mintCallId() : upstreamId,
      upstreamId,
      name: '',
      early: '',
      earlyBytes: 0,
      isCustom: false,
      written: new JsonProgress(),
    }
    this.#calls.push(call)
    this.#ids.add(call.id)
    if (!this.#byUpstreamId.has(upstreamId)) this.#byUpstreamId.set(upstreamId, call)
    if (typeof index === 'number') this.#byUpstreamIndex.set(index, call)
    return call
  }
}

/** A fragment of which nothing is said is no call. */
const isNameless = ({ isCustom: isFree, name, upstreamId, early }: OpenCall): boolean =>
  !isFree && name === '' && (upstreamId !== '' || early !== '')

function mendFragment(call: OpenCall, fragment: Fields): Fields[] {
  // Free text comes from the few servers that know custom tools, and they send it as it should be.
  if (isCustom(fragment)) return [fragment.index === call.index ? fragment : { ...fragment, index: call.index }]
  const name = nameOf(fragment)
  const written = argumentsOf(fragment)
  if (call.name === '') {
    // Nobody can show a call without a name: what comes before it waits.
    if (name === '') {
      call.early += written
      call.earlyBytes += Buffer.byteLength(written)
      return []
    }
    call.name = name
    const first = firstFragment(call, fragment, name, call.early + written)
    call.early = ''
    call.earlyBytes = 0
    return [first]
  }
  return [laterFragment(call, fragment, written)]
}

function firstFragment(call: OpenCall, fragment: Fields, name: string, written: string): Fields {
  const fine =
    fragment.index === call.index &&
    fragment.id === call.id &&
    fragment.type === 'function' &&
    rawArguments(fragment) === written
  if (fine) return fragment
  const details = isObject(fragment.function) ? fragment.function : {}
  return {
    ...fragment,
    index: call.index,
    id: call.id,
    type: 'function',
    function: { ...details, name, arguments: written },
  }
}

function laterFragment(call: OpenCall, fragment: Fields, written: string): Fields {
  const raw = rawArguments(fragment)
  const fine =
    fragment.index === call.index &&
    (fragment.id === undefined || fragment.id === null || fragment.id === call.id) &&
    (raw === written || raw === undefined) &&
    nameOf(fragment) === ''
  if (fine) return fragment
  return { index: call.index, function: { arguments: written } }
}

const isCustom = (fragment: Fields): boolean => fragment.type === 'custom' || isObject(fragment.custom)

function nameOf({ function: called, custom }: Fields): string {
  const named = isObject(called) ? called : custom
  return isObject(named) ? (stringOf(named.name) ?? '') : ''
}

const rawArguments = (fragment: Fields): unknown =>
  isObject(fragment.function) ? fragment.function.arguments : undefined

const argumentsOf = (fragment: Fields): string => argumentsText(rawArguments(fragment))
