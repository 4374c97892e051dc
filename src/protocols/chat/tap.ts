import { isUtf8 } from 'node:buffer'
import { type Fields, isObject } from '../../lib/types.ts'
import { endOfString, tryParse } from '../json/bytes.ts'
import { type EncodedFrame, type MintIds, NOTHING_ENCODED } from '../shared/codec-types.ts'
import { newStreamState, recordUsage, type StreamState } from '../shared/stream-state.ts'
import { dataFrame, type FrameSplitter } from '../sse/frames.ts'
import { callsBegun, failureInFinish, ModelRenamer, parseChunk, textBytesOf } from './chunk.ts'
import type { ChatDialect } from './dialects.ts'
import { createFrameTemplates, type FrameTemplates } from './frame-template.ts'
import { ChunkRepair } from './repair-chunk.ts'
import { UsageReader } from './usage.ts'
import type { StreamHead } from './write-events.ts'

export interface ChatTapOptions {
  readonly laneModel: string
  readonly publicModel: string
  readonly dialect: ChatDialect
  readonly mint: Pick<MintIds, 'completionId' | 'callId'>
  /** How many choices the client requested: the stream is complete when each has a finish reason. */
  readonly choices: number
  /** The client declared `functions`, and expects its call as `function_call`. */
  readonly functionForm: boolean
  /** Wall time in milliseconds, for a server that sends no `created`. */
  readonly now: () => number
}

/** Reads a relayed stream: it passes most frames on as they came, and picks out usage, finish and errors. */
export class ChatTap {
  /** `head`: what the usage chunk, which is written after the settle, repeats of the stream. */
  readonly state: StreamState & { head: StreamHead | undefined } = { ...newStreamState(), head: undefined }
  readonly #renamer: ModelRenamer
  readonly #usage: UsageReader
  readonly #repair: ChunkRepair
  readonly #templates: FrameTemplates

  constructor(options: ChatTapOptions) {
    this.#renamer = new ModelRenamer(options.laneModel, options.publicModel)
    this.#usage = new UsageReader(options)
    this.#repair = new ChunkRepair(options)
    this.#templates = createFrameTemplates(this.#renamer)
  }

  /** Reads one frame of the provider; gives what of it goes to the client now. */
  read(frame: Buffer): EncodedFrame {
    // A frame of another template may change what the next one of this template means.
    this.#templates.forget()
    const chunk = parseChunk(this.state, frame)
    if (chunk === undefined) return NOTHING_ENCODED
    const hasUsage = this.#usage.read(chunk)
    const encoded = this.#readChunk(frame, chunk, hasUsage)
    recordUsage(this.state, this.#usage.usage)
    return encoded
  }

  /** Passes on the next frames that differ from the last one only in their text, as one piece; undefined for none. */
  readTemplated(frames: FrameSplitter): EncodedFrame | undefined {
    const run = this.#templates.take(frames)
    if (run === undefined) return undefined
    const { state } = this
    state.outputBytes += run.textBytes
    state.contentFrames += run.frames
    for (const text of argumentsIn(run.bytes)) this.#repair.addArguments(text)
    state.invalid ??= this.#repair.fault
    return { bytes: run.bytes, isContent: run.textBytes > 0 }
  }

  #readChunk(frame: Buffer, chunk: Fields, hasUsage: boolean): EncodedFrame {
    const { state } = this
    // The usage chunk is ours to write, after the settle; a chunk without choices has nothing else in it.
    if (!hasChoices(chunk)) return NOTHING_ENCODED
    const isRepaired = this.#repair.repair(chunk)
    const choices = (chunk.choices as unknown[]).filter(isObject)
    const { fault } = this.#repair
    if (choices.length === 0 && fault === undefined) return NOTHING_ENCODED
    state.head ??= { id: chunk.id, created: chunk.created, systemFingerprint: chunk.system_fingerprint }
    const bytesBefore = state.outputBytes
    for (const choice of choices) {
      state.error = failureInFinish(choice) ?? state.error
      if (!isObject(choice.delta)) continue
      state.outputBytes += textBytesOf(choice.delta)
      state.calls += callsBegun(choice.delta)
    }
    if (state.error === undefined) state.invalid ??= fault
    state.finished = this.#repair.finished
    if (state.error !== undefined || state.invalid !== undefined) {
      // The failure is reported in our own words; what came in the same chunk is neither sent nor counted.
      state.outputBytes = bytesBefore
      return NOTHING_ENCODED
    }
    const textBytes = state.outputBytes - bytesBefore
    const isContent = textBytes > 0
    if (isContent) state.contentFrames += 1
    const model = this.#renamer.publicModel
    if (hasUsage) {
      const { x_groq: _withUsage, ...rest } = chunk
      const withoutUsage = choices.map(({ usage: _reported, ...choice }) => choice)
      return { bytes: dataFrame({ ...rest, choices: withoutUsage, model, usage: null }), isContent }
    }
    // Strict clients throw at bytes that are not UTF-8. The rewritten frame is what lenient clients read.
    const rename = isRepaired || !isUtf8(frame) ? 'rewrite' : this.#renamer.renameFor(frame, chunk)
    if (rename === 'rewrite') return { bytes: dataFrame({ ...chunk, model }), isContent }
    if (isContent) this.#templates.learn(rename, { frame, chunk, textBytes })
    return { bytes: this.#renamer.apply(rename, frame), isContent }
  }
}

const hasChoices = ({ choices }: Fields): boolean => Array.isArray(choices) && choices.some(isObject)

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
