import { type Fields, isObject } from '../../lib/types.ts'
import type { FinishReason, TokenLogprob, TurnEvent } from '../../model/event.ts'
import { CALLS_MAX, type EventReader, type ReaderOptions } from '../shared/codec-types.ts'
import { newStreamState, recordUsage } from '../shared/stream-state.ts'
import { firstOf, LOGPROBS_WAITING_MAX, readLogprobs } from '../shared/texts.ts'
import { BROKEN_ARGUMENTS, CONTENT_AFTER_END, TOO_MANY_CALLS } from '../tools/tool-names.ts'
import {
  deltaOf,
  failureIn,
  faultInCalls,
  finishReasonFrom,
  hasContent,
  joinChoices,
  parseChunk,
  plainContent,
  reasoningTextOf,
  textBytesOf,
} from './chunk.ts'
import type { ChatDialect } from './dialects.ts'
import { hasFinish, ToolCallRepair } from './repair-chunk.ts'
import { DetailsReader, ExtraReader, type SignedParts, writeSignedParts } from './signed-parts.ts'
import { UsageReader } from './usage.ts'

export const createEventReader = (options: ReaderOptions<ChatDialect>): EventReader => new ChatEventReader(options)

/**
 * Reads the stream of a chat lane, with the oddities of its server, as events. Only its first choice counts. The events of the end
 * come when the answer is over (a usage behind the finish reason, or `[DONE]`), because some servers send a finish reason with
 * every chunk, or more reasoning and calls behind it.
 */
class ChatEventReader implements EventReader {
  readonly state = newStreamState()
  readonly #options: ReaderOptions<ChatDialect>
  readonly #usage = new UsageReader()
  /** Only tells calls apart: the id that the client sees is minted when a call begins. Undefined until there is a call. */
  #repair: ToolCallRepair | undefined
  /** The number of each call that has begun, by the index that the repair gives it. */
  readonly #calls = new Map<number, number>()
  /** The ids that the client sees, by number, and by the server's own. */
  readonly #callIds: string[] = []
  readonly #minted = new Map<string, string>()
  #emittedBytes = 0
  /** Of tokens that have brought no text yet, such as parts of a character. */
  #logprobs: TokenLogprob[] = []
  /** The reasoning since the last other content, where the server wants it back. */
  #reasoning = ''
  /** What the server has signed; undefined until there is something of the kind. */
  #details: DetailsReader | undefined
  #extras: ExtraReader | undefined
  #isPlainText = false
  #hasContent = false
  /** The finish reason in the server's words; undefined until there is one. */
  #finish: string | undefined
  /** Content has followed a finish reason, so the last one is right and not the first. */
  #wentOn = false
  #hasEnded = false
  #events: TurnEvent[] = []

  constructor(options: ReaderOptions<ChatDialect>) {
    this.#options = options
  }

  read(frame: Buffer): readonly TurnEvent[] {
    const { state } = this
    if (state.done || state.invalid !== undefined || state.error) return []
    const chunk = parseChunk(state, frame)
    this.#events = []
    this.#isPlainText = false
    if (chunk === undefined) {
      if (state.done) this.#endAtMark()
      return this.#events
    }
    const hasUsage = this.#usage.read(chunk, 1, this.#options.dialect)
    const bytesBefore = state.outputBytes
    const hasAnswer = this.#readChunk(chunk)
    if (hasUsage && !hasAnswer) this.#end()
    if (state.outputBytes > bytesBefore) state.contentFrames += 1
    recordUsage(state, this.#usage.usage)
    if (chunk.service_tier !== undefined) state.serviceTier = chunk.service_tier
    return this.#events
  }

  /** Only where the last frame had nothing but a text: no part of a call, nothing that is counted and not shown. */
  get repeatText() {
    return this.#isPlainText ? this.#repeatText : undefined
  }

  readonly #repeatText = (text: string): void => {
    const bytes = Buffer.byteLength(text)
    this.#emittedBytes += bytes
    this.state.outputBytes += bytes
    this.state.contentFrames += 1
  }

  get ending(): FinishReason | undefined {
    return this.state.finished && !this.#hasEnded ? this.#endReason() : undefined
  }

  /** False for a chunk without a part of the answer. */
  #readChunk({ choices }: Fields): boolean {
    const { state } = this
    const joins = this.#options.dialect.splitsChoices && Array.isArray(choices)
    const choice = firstOf(joins ? joinChoices(choices, 'delta') : choices)
    if (choice === undefined) return false
    const delta = deltaOf(choice, { isBehindContent: this.#hasContent })
    this.#hasContent ||= hasContent(delta)
    if (this.#finish !== undefined && !this.#goesOn(choice, delta)) return false
    state.error = failureIn(choice)
    if (state.error) return true
    if (Array.isArray(delta.content)) {
      const { content, reasoning } = plainContent(delta.content)
      delta.content = content
      if (reasoning !== '') delta.reasoning_content = reasoning
    }
    const hasCalls = Array.isArray(delta.tool_calls) || isObject(delta.function_call)
    const fragments = hasCalls ? this.#repairCalls(delta) : undefined
    this.#readDelta(delta, fragments, choice.logprobs)
    state.heldBytes = this.#repair?.waitingBytes ?? 0
    state.outputBytes = this.#emittedBytes + state.heldBytes
    state.calls = this.#calls.size
    this.#readFinish(choice)
    return true
  }

  /** Whether a chunk behind the finish reason has more of the answer. */
  #goesOn(choice: Fields, delta: Fields): boolean {
    if (!hasContent(delta)) {
      if (this.#wentOn) this.#readFinish(choice)
      return false
    }
    if (this.#hasEnded) {
      this.state.invalid = CONTENT_AFTER_END
      return false
    }
    this.#wentOn = true
    // A usage that came with the finish reason did not count what follows.
    this.state.usageIsFinal = false
    return true
  }

  /** Writes every call of a delta in the fragments that clients know. */
  #repairCalls(delta: Fields): readonly Fields[] {
    const { tool_calls, function_call: older } = delta
    const calls = Array.isArray(tool_calls) ? tool_calls : []
    // The older form has one call.
    const received = calls.length === 0 && isObject(older) ? [{ index: 0, function: older }] : calls
    this.#repair ??= new ToolCallRepair(() => '')
    const fragments = this.#repair.repair(received) ?? received.filter(isObject)
    if (this.#repair.areTooMany) this.state.invalid = TOO_MANY_CALLS
    delta.tool_calls = fragments
    delete delta.function_call
    return fragments
  }

  #readDelta(delta: Fields, fragments: readonly Fields[] | undefined, logprobs: unknown): void {
    const textBytes = textBytesOf(delta)
    this.#emittedBytes += textBytes
    if (Array.isArray(delta.reasoning_details)) {
      this.#details ??= new DetailsReader()
      this.#details.add(delta.reasoning_details)
    }
    // Details of a call come with it, and name it.
    if (this.#details !== undefined) for (const { id } of fragments ?? []) if (isText(id)) this.#callIdOf(id)
    const reasoning = reasoningTextOf(delta)
    if (reasoning !== '') {
      if (this.#options.dialect.requiresReasoning) this.#reasoning += reasoning
      this.#events.push({ type: 'reasoning-delta', text: reasoning })
    }
    if (isObject(logprobs))
      for (const token of readLogprobs(logprobs.content))
        if (this.#logprobs.length < LOGPROBS_WAITING_MAX) this.#logprobs.push(token)
    if (isText(delta.content)) {
      this.#sealReasoning()
      const tokens = this.#logprobs
      this.#logprobs = []
      this.#isPlainText =
        fragments === undefined && !isObject(logprobs) && textBytes === Buffer.byteLength(delta.content)
      this.#events.push({
        ...{ type: 'text-delta', text: delta.content },
        ...(tokens.length === 0 ? {} : { logprobs: tokens }),
      })
    }
    if (isText(delta.refusal)) {
      this.#sealReasoning()
      this.#events.push({ type: 'refusal-delta', text: delta.refusal })
    }
    if (fragments !== undefined) for (const fragment of fragments) this.#readFragment(fragment)
  }

  /** A client that keeps only sealed reasoning must be able to return what a server wants back. */
  #sealReasoning(): void {
    if (this.#reasoning !== '') this.#seal(this.#reasoning)
    this.#reasoning = ''
    const details = this.#details?.take()
    if (details === undefined) return
    // Gemini's are those of a call.
    const named = details.map((detail) => ({
      ...detail,
      ...(isText(detail.id) && { id: this.#minted.get(detail.id) ?? detail.id }),
    }))
    this.#sealParts({ details: named })
  }

  #callIdOf(upstreamId: unknown): string {
    const known = isText(upstreamId) ? this.#minted.get(upstreamId) : undefined
    const callId = known ?? this.#options.mint.callId()
    if (isText(upstreamId)) this.#minted.set(upstreamId, callId)
    return callId
  }

  #sealParts(parts: SignedParts): void {
    this.#seal(writeSignedParts(parts))
  }

  #seal(data: string): void {
    this.#events.push({ type: 'reasoning-seal', opaque: { wire: 'chat', origin: this.#options.origin, data } })
  }

  #readFragment(fragment: Fields): void {
    const { index, custom, function: called } = fragment
    const isCustom = isObject(custom)
    const { name, input, arguments: args }: Fields = isCustom ? custom : isObject(called) ? called : {}
    const call = this.#calls.get(index as number) ?? this.#calls.size
    if (call === this.#calls.size) {
      if (!isText(name)) return
      if (call === CALLS_MAX) this.state.invalid = TOO_MANY_CALLS
      if (this.state.invalid !== undefined) return
      this.#sealReasoning()
      this.#calls.set(index as number, call)
      const callId = this.#callIdOf(fragment.id)
      this.#callIds.push(callId)
      this.#readExtra(call, fragment)
      const tool = isCustom ? 'custom' : 'function'
      this.#events.push({ type: 'tool-call-start', call, callId, name, namespace: undefined, tool })
    } else this.#readExtra(call, fragment)
    const text = isCustom ? input : args
    if (isText(text)) this.#events.push({ type: 'tool-call-delta', call, text })
  }

  #readExtra(call: number, fragment: Fields): void {
    if (fragment.extra_content === undefined) return
    this.#extras ??= new ExtraReader()
    const extra = this.#extras.read(fragment)
    if (extra !== undefined) this.#sealParts({ call: this.#callIds[call]!, extra })
  }

  #readFinish(choice: Fields): void {
    const { state } = this
    const isNew = hasFinish(choice)
    if (isNew) this.#finish = choice.finish_reason
    if (this.#finish === undefined) return
    const finish = finishReasonFrom(this.#finish, this.#repair)
    const fault = faultInCalls(finish, this.#repair)
    // A call that began behind the finish reason may not be whole yet.
    state.finished = fault === undefined
    if (!isNew) return
    this.#isPlainText = false
    state.finishReason = finish ?? undefined
    // A call may be a custom tool of the client: `restore-tools.ts` knows, and checks the arguments.
    if (fault === BROKEN_ARGUMENTS) this.#end()
    else state.invalid = fault
  }

  /** At the end mark of the stream an answer whose calls are whole has ended, although its server did not say so. */
  #endAtMark(): void {
    if (this.#repair?.areWhole) this.#finish ??= 'tool_calls'
    this.#end()
    recordUsage(this.state, this.#usage.usage)
  }

  /** Gives the events of the end, once. */
  #end(): void {
    if (this.#finish === undefined || this.#hasEnded) return
    this.#hasEnded = true
    // A call behind the finish reason never got its name.
    const fault = faultInCalls(finishReasonFrom(this.#finish, this.#repair), this.#repair)
    if (fault !== undefined && fault !== BROKEN_ARGUMENTS) {
      this.state.invalid = fault
      return
    }
    this.state.finished = true
    this.#sealReasoning()
    for (let call = 0; call < this.#calls.size; call++) this.#events.push({ type: 'tool-call-end', call })
    this.#events.push({ type: 'turn-end', reason: this.#endReason() })
  }

  #endReason(): FinishReason {
    const finish = finishReasonFrom(this.#finish, this.#repair)
    if (finish === 'length') return finish
    if (finish === 'content_filter') return 'content-filter'
    return this.#calls.size > 0 ? 'tool-calls' : 'stop'
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
