import { isUtf8 } from 'node:buffer'
import { type Fields, isObject } from '../../lib/types.ts'
import { depthAt, endOfString, tryParse } from '../json/bytes.ts'
import { type EncodedFrame, NOTHING_ENCODED, type StreamAdapter } from '../shared/codec-types.ts'
import { newStreamState, recordUsage } from '../shared/stream-state.ts'
import { DONE_FRAME, dataFrame, type FrameSplitter } from '../sse/frames.ts'
import { CONTENT_AFTER_END } from '../tools/tool-names.ts'
import { callsBegun, deltaOf, failureIn, hasContent, parseChunk, textBytesOf } from './chunk.ts'
import { type FrameTemplate, learnTemplate } from './frame-template.ts'
import { ChunkRepair, hasFinish, isRequested, type RelayOptions } from './repair-chunk.ts'
import { UsageReader } from './usage.ts'
import { closingWithUsage, type StreamHead } from './write-events.ts'

export interface ChatTapOptions extends RelayOptions {
  readonly publicModel: string
}

interface ReceivedChunk {
  readonly frame: Buffer
  readonly chunk: Fields
  readonly isRepaired: boolean
  readonly hasUsage: boolean
}

/** A stream whose frames all differ stops learning after so many templates that no frame matched. */
const UNMATCHED_TEMPLATES_MAX = 8

/**
 * Reads a relayed stream: it passes most frames on as they came, and picks out usage, finish and errors. The finish chunk goes to
 * the client when the answer is over (a usage behind it, `[DONE]`, or `close`), because some servers send a finish reason with
 * every chunk, or more reasoning and calls behind it.
 */
export class ChatTap implements StreamAdapter {
  readonly state = newStreamState()
  /** Called without `this`. */
  readonly close: StreamAdapter['close']
  readonly #options: ChatTapOptions
  readonly #usage = new UsageReader()
  readonly #repair: ChunkRepair
  /** The provider's name for the model in the last frame: often another one than it was called by, such as a dated version. */
  #providerModel: string | undefined
  /** The member with this name, and with the public one. */
  #providerMember: Buffer = NOTHING
  #publicMember: Buffer = NOTHING
  /** Where the member begins in the last frame. */
  #memberAt = 0
  /** What the usage chunk, which is written after the settle, repeats of the stream. */
  #head: StreamHead | undefined
  /** The template of the last parsed frame. */
  #template: FrameTemplate | undefined
  #unmatchedTemplates = 0
  /** The last parsed frame has arguments of calls. */
  #hasCalls = false
  /** The last parsed frame has the provider's name for the model, and gets the public one. */
  #renames = false
  /** Finish chunks without content, which wait until nothing can follow them. */
  readonly #held: ReceivedChunk[] = []
  /** The finish chunks as the client gets them. */
  #end: Buffer | undefined
  #isEndSent = false

  constructor(options: ChatTapOptions) {
    const { request } = options
    this.#options = options
    this.#repair = new ChunkRepair(options)
    this.close = (settled) => {
      const closing = request.wantsUsage ? closingWithUsage(request.model, this.#head, settled) : DONE_FRAME
      return this.#isEndSent ? closing : Buffer.concat([this.#writeEnd(), closing])
    }
  }

  /** Reads one frame of the provider; gives what of it goes to the client now. */
  read(frame: Buffer): EncodedFrame {
    // A frame of another template may change what the next one of this template means.
    this.#template = undefined
    const chunk = parseChunk(this.state, frame)
    if (chunk === undefined) return this.state.done ? this.#endAtMark() : NOTHING_ENCODED
    const { request, dialect } = this.#options
    const hasUsage = this.#usage.read(chunk, request.choices, dialect)
    const encoded = this.#readChunk(frame, chunk, hasUsage)
    recordUsage(this.state, this.#usage.usage)
    if (chunk.service_tier !== undefined) this.state.serviceTier = chunk.service_tier
    return encoded
  }

  /** Passes on the next frames that differ from the last one only in their text, as one piece; undefined for none. */
  readRepeated(frames: FrameSplitter): EncodedFrame | undefined {
    const template = this.#template
    const matching = template && frames.takeMatching(template)
    if (template === undefined || matching === undefined) return undefined
    const { state } = this
    const { textBytes, contentFrames, lengths } = template
    state.outputBytes += textBytes
    state.contentFrames += contentFrames
    template.textBytes = 0
    template.contentFrames = 0
    template.lengths = []
    this.#unmatchedTemplates = 0
    if (this.#hasCalls) for (const text of argumentsIn(matching)) this.#repair.addArguments(text)
    state.invalid ??= this.#repair.fault
    const hasFixedPlace = this.#memberAt + this.#providerMember.length <= template.fixedBytes
    const bytes = this.#renames ? this.#renamed(matching, lengths, hasFixedPlace) : matching
    return { bytes, isContent: textBytes > 0 }
  }

  /** Whether a choice that the client has asked for goes on. */
  #hasMore(choices: readonly unknown[]): boolean {
    const most = this.#options.request.choices
    return choices.some(
      (choice, at) =>
        isObject(choice) && isRequested(choice.index ?? at, most) && hasContent(deltaOf(choice, BEHIND_CONTENT)),
    )
  }

  #readChunk(frame: Buffer, chunk: Fields, hasUsage: boolean): EncodedFrame {
    const { state } = this
    const listed: readonly unknown[] = Array.isArray(chunk.choices) ? chunk.choices : []
    if (this.#isEndSent && this.#hasMore(listed)) state.invalid = CONTENT_AFTER_END
    // The usage chunk is ours to write, after the settle; a chunk without choices has nothing else in it.
    if (this.#isEndSent || !listed.some(isObject)) return hasUsage ? this.#sendEnd() : NOTHING_ENCODED
    const isRepaired = this.#repair.repair(chunk)
    const choices = (chunk.choices as unknown[]).filter(isObject)
    const { fault } = this.#repair
    state.finished = this.#repair.finished
    state.finishReason = this.#repair.finishReason
    if (choices.length === 0 && fault === undefined) return hasUsage ? this.#sendEnd() : NOTHING_ENCODED
    this.#head ??= { id: chunk.id, created: chunk.created, systemFingerprint: chunk.system_fingerprint }
    const bytesBefore = state.outputBytes
    this.#hasCalls = false
    for (const choice of choices) {
      state.error = failureIn(choice) ?? state.error
      const { delta } = choice
      if (!isObject(delta)) continue
      state.outputBytes += textBytesOf(delta)
      if (delta.tool_calls === undefined && delta.function_call === undefined) continue
      this.#hasCalls = true
      state.calls += callsBegun(delta)
    }
    if (state.error === undefined) state.invalid ??= fault
    if (state.error !== undefined || state.invalid !== undefined) {
      // The failure is reported in our own words; what came in the same chunk is neither sent nor counted.
      state.outputBytes = bytesBefore
      return NOTHING_ENCODED
    }
    const textBytes = state.outputBytes - bytesBefore
    const isContent = textBytes > 0
    if (isContent) state.contentFrames += 1
    const received = { frame, chunk, isRepaired, hasUsage }
    if (this.#repair.wentOn || choices.some(hasFinish)) return this.#holdFinish(received, isContent)
    if (this.#mustRewrite(received)) return { bytes: this.#rewritten(received), isContent }
    // An answer in a single frame needs no template.
    if (isContent && state.contentFrames > 1 && this.#unmatchedTemplates < UNMATCHED_TEMPLATES_MAX) {
      this.#unmatchedTemplates += 1
      this.#template = learnTemplate(frame, chunk, textBytes)
    }
    return { bytes: this.#passed(frame), isContent }
  }

  /** Passes on a chunk with a finish reason, or behind one. Its content goes out now, its finish reason when nothing follows it. */
  #holdFinish(received: ReceivedChunk, isContent: boolean): EncodedFrame {
    const choices = choicesOf(received)
    if (!isContent && choices.some(hasFinish)) {
      this.#held.push(received)
      return NOTHING_ENCODED
    }
    const frames: Buffer[] = []
    if (this.#repair.wentOn) {
      // A usage that came with the finish reason did not count what follows.
      if (isContent) this.state.usageIsFinal = false
      for (const held of this.#held.splice(0)) frames.push(this.#withoutFinish(held))
    }
    frames.push(this.#withoutFinish(received))
    return { bytes: Buffer.concat(frames), isContent }
  }

  #withoutFinish(received: ReceivedChunk): Buffer {
    const ending = choicesOf(received).filter(hasFinish)
    for (const choice of ending) Object.assign(choice, { finish_reason: null })
    return ending.length > 0 ? this.#rewritten(received) : this.#encoded(received)
  }

  #endAtMark(): EncodedFrame {
    this.#repair.finishCalls()
    this.state.finished = this.#repair.finished
    recordUsage(this.state, this.#usage.usage)
    return this.#sendEnd()
  }

  /** Sends the finish chunks of an answer that is over; nothing of one that has no finish reason. */
  #sendEnd(): EncodedFrame {
    if (!this.state.finished || this.#isEndSent) return NOTHING_ENCODED
    this.#isEndSent = true
    return { bytes: this.#writeEnd(), isContent: false }
  }

  /** Once: writing a finish reason changes its chunk. */
  #writeEnd(): Buffer {
    if (this.#end !== undefined) return this.#end
    const written = new Set<unknown>()
    const frames: Buffer[] = []
    for (const held of this.#held) {
      let isRepaired = held.isRepaired
      for (const choice of choicesOf(held).filter(hasFinish)) {
        isRepaired = this.#repair.writeFinish(choice) || isRepaired
        written.add(choice.index)
      }
      frames.push(this.#encoded({ ...held, isRepaired }))
    }
    const choices = this.#repair.writeEnds(written)
    if (choices.length > 0) {
      const { id, created, systemFingerprint } = this.#head!
      const fingerprint = systemFingerprint === undefined ? {} : { system_fingerprint: systemFingerprint }
      const model = this.#options.publicModel
      frames.push(dataFrame({ id, object: 'chat.completion.chunk', created, model, ...fingerprint, choices }))
    }
    this.#end = Buffer.concat(frames)
    return this.#end
  }

  #encoded(received: ReceivedChunk): Buffer {
    return this.#mustRewrite(received) ? this.#rewritten(received) : this.#passed(received.frame)
  }

  /** Strict clients throw at bytes that are not UTF-8. The rewritten frame is what lenient clients read. */
  #mustRewrite({ frame, chunk, isRepaired, hasUsage }: ReceivedChunk): boolean {
    this.#renames = chunk.model !== this.#options.publicModel
    return hasUsage || isRepaired || !isUtf8(frame) || (this.#renames && !this.#canRename(frame, chunk.model))
  }

  #passed(frame: Buffer): Buffer {
    return this.#renames ? this.#renamed(frame, [frame.length], true) : frame
  }

  #rewritten({ chunk, hasUsage }: ReceivedChunk): Buffer {
    const model = this.#options.publicModel
    if (!hasUsage) return dataFrame({ ...chunk, model })
    const { x_groq: _withUsage, ...rest } = chunk
    const withoutUsage = (chunk.choices as Fields[]).map(({ usage: _reported, ...choice }) => choice)
    return dataFrame({ ...rest, choices: withoutUsage, model, usage: null })
  }

  /**
   * The name in the frame's bytes can be replaced by the public one. `"` is escaped inside JSON strings, so the quoted name is only
   * found where it is a member. Where a server spells it differently, or writes it anywhere else, the frame has to be rewritten.
   */
  #canRename(frame: Buffer, model: unknown): boolean {
    if (typeof model !== 'string') return false
    if (model !== this.#providerModel) {
      this.#providerModel = model
      // Python writes a space behind a colon.
      const colon = frame.includes('"model": "') ? ': ' : ':'
      this.#providerMember = modelMember(model, colon)
      this.#publicMember = modelMember(this.#options.publicModel, colon)
    }
    const at = frame.indexOf(MODEL)
    this.#memberAt = at
    return (
      at !== -1 &&
      frame.indexOf(MODEL, at + MODEL.length) === -1 &&
      frame.indexOf(this.#providerMember, at) === at &&
      depthAt(frame, at) === 1
    )
  }

  /** Replaces the name of the model in each frame. `hasFixedPlace`: the member begins at the same offset in all of them. */
  #renamed(frames: Buffer, lengths: readonly number[], hasFixedPlace: boolean): Buffer {
    const from = this.#providerMember
    const to = this.#publicMember
    const renamed = Buffer.allocUnsafe(frames.length + lengths.length * (to.length - from.length))
    let start = 0
    let copied = 0
    let end = 0
    for (const length of lengths) {
      const at = hasFixedPlace ? start + this.#memberAt : frames.indexOf(from, start)
      end += frames.copy(renamed, end, copied, at)
      renamed.set(to, end)
      end += to.length
      copied = at + from.length
      start += length
    }
    frames.copy(renamed, end, copied)
    return renamed
  }
}

const choicesOf = ({ chunk }: ReceivedChunk): Fields[] => (chunk.choices as unknown[]).filter(isObject)

const BEHIND_CONTENT = { isBehindContent: true }
const NOTHING = Buffer.alloc(0)
const MODEL = Buffer.from('"model"')

const modelMember = (model: string, colon: string): Buffer => Buffer.from(`"model"${colon}${JSON.stringify(model)}`)

/** `"` is escaped inside strings, so this matches only a real member name. */
const NAME = Buffer.from('"arguments"')
const OPENING = /^ ?: ?"/

/** The arguments in frames that are not parsed: enough of them to know where their strings and objects end. */
function argumentsIn(frames: Buffer): string[] {
  const found: string[] = []
  for (let at = frames.indexOf(NAME); at !== -1; at = frames.indexOf(NAME, at)) {
    at += NAME.length
    const [opening] = OPENING.exec(frames.toString('latin1', at, at + 4)) ?? []
    const end = opening === undefined ? -1 : endOfString(frames, at + opening.length)
    if (opening === undefined || end === -1) continue
    const text = tryParse(frames.toString('latin1', at + opening.length - 1, end + 1))
    if (typeof text === 'string') found.push(text)
    at = end
  }
  return found
}
