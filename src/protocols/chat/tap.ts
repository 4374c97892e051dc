import { isUtf8 } from 'node:buffer'
import { type Fields, isObject } from '../../lib/types.ts'
import { endOfString, tryParse } from '../json/bytes.ts'
import { type EncodedFrame, type MintIds, NOTHING_ENCODED } from '../shared/codec-types.ts'
import { newStreamState, recordUsage, type StreamState } from '../shared/stream-state.ts'
import { dataFrame, type FrameSplitter } from '../sse/frames.ts'
import { callsBegun, createModelRenamer, failureInFinish, type ModelRenamer, parseChunk, textBytesOf } from './chunk.ts'
import type { ChatDialect } from './dialects.ts'
import { createFrameTemplates, type FrameTemplates } from './frame-template.ts'
import { type ChunkRepair, createChunkRepair } from './repair-chunk.ts'
import { createUsageListener, type UsageListener } from './usage.ts'
import type { StreamHead } from './write-events.ts'

/** What listens in a relayed stream: it passes frames on as they came, and picks out the few that matter. */
interface ChatTap {
  /** One frame of the provider's: what of it goes to the client now. */
  read(frame: Buffer): EncodedFrame
  /** The frames that come next and differ from the last one only in their words, as one piece; undefined for none. */
  readTemplated(frames: FrameSplitter): EncodedFrame | undefined
  readonly state: ChatHeard
}

/** What the tap has learned so far. */
interface ChatHeard extends StreamState {
  /** What the usage chunk, which is written after the settle, repeats of the stream. */
  head: StreamHead | undefined
}

export interface ChatTapOptions {
  readonly laneModel: string
  readonly publicModel: string
  readonly dialect: ChatDialect
  readonly mint: Pick<MintIds, 'completionId' | 'callId'>
  /** How many choices were asked for: the stream is whole when each has said why it ended. */
  readonly choices: number
  /** The client declared `functions`, and expects its call as `function_call`. */
  readonly functionForm: boolean
  /** Wall time in milliseconds, for a server that tells none. */
  readonly now: () => number
}

export function createChatTap(options: ChatTapOptions): ChatTap {
  const state: ChatHeard = { ...newStreamState(), head: undefined }
  const renamer = createModelRenamer(options.laneModel, options.publicModel)
  const listening: Listening = {
    state,
    options,
    renamer,
    usage: createUsageListener(options),
    repairer: createChunkRepair(options),
    templates: createFrameTemplates(renamer),
  }
  return {
    state,
    read(frame) {
      // A frame of another template may change what the next one of this template means.
      listening.templates.forget()
      return readFrame(listening, frame)
    },
    readTemplated(frames) {
      const run = listening.templates.take(frames)
      if (run === undefined) return undefined
      state.outputBytes += run.textBytes
      state.contentFrames += run.frames
      for (const written of argumentsIn(run.bytes)) listening.repairer.goOn(written)
      state.invalid ??= listening.repairer.fault
      return { bytes: run.bytes, isContent: run.textBytes > 0 }
    },
  }
}

interface Listening {
  readonly state: ChatHeard
  readonly options: ChatTapOptions
  readonly renamer: ModelRenamer
  readonly usage: UsageListener
  readonly repairer: ChunkRepair
  readonly templates: FrameTemplates
}

function readFrame(listening: Listening, frame: Buffer): EncodedFrame {
  const chunk = parseChunk(listening.state, frame)
  if (chunk === undefined) return NOTHING_ENCODED
  const tellsUsage = listening.usage.hear(chunk)
  const carried = readChunk(listening, frame, chunk, tellsUsage)
  recordUsage(listening.state, listening.usage.usage())
  return carried
}

function readChunk(listening: Listening, frame: Buffer, chunk: Fields, tellsUsage: boolean): EncodedFrame {
  const { state, renamer, repairer } = listening
  // The usage chunk is ours to write, after the settle; a chunk without choices has nothing else in it.
  if (!hasChoices(chunk)) return NOTHING_ENCODED
  const repaired = repairer.repair(chunk)
  const choices = (chunk.choices as unknown[]).filter(isObject)
  if (choices.length === 0 && repairer.fault === undefined) return NOTHING_ENCODED
  state.head ??= { id: chunk.id, created: chunk.created, systemFingerprint: chunk.system_fingerprint }
  const bytesBefore = state.outputBytes
  for (const choice of choices) readChoice(state, choice)
  if (state.error === undefined) state.invalid ??= repairer.fault
  state.finished = repairer.finished
  if (state.error !== undefined || state.invalid !== undefined) {
    // The failure is said in our own words; what came in the same chunk goes nowhere and counts for nothing.
    state.outputBytes = bytesBefore
    return NOTHING_ENCODED
  }
  const isContent = state.outputBytes > bytesBefore
  if (isContent) state.contentFrames += 1
  if (tellsUsage) {
    const { x_groq: _withUsage, ...rest } = chunk
    const withoutUsage = choices.map(({ usage: _reported, ...choice }) => choice)
    return { bytes: dataFrame({ ...rest, choices: withoutUsage, model: renamer.publicModel, usage: null }), isContent }
  }
  // Strict clients throw at bytes that are not UTF-8. The rewritten frame is what lenient clients read.
  const rename = repaired || !isUtf8(frame) ? 'rewrite' : renamer.renameFor(frame, chunk)
  if (rename === 'rewrite') return { bytes: dataFrame({ ...chunk, model: renamer.publicModel }), isContent }
  if (isContent) listening.templates.learn(rename, { frame, chunk, textBytes: state.outputBytes - bytesBefore })
  return { bytes: renamer.apply(rename, frame), isContent }
}

const hasChoices = ({ choices }: Fields): boolean => Array.isArray(choices) && choices.some(isObject)

function readChoice(state: StreamState, choice: Fields): void {
  state.error = failureInFinish(choice) ?? state.error
  if (!isObject(choice.delta)) return
  state.outputBytes += textBytesOf(choice.delta)
  state.calls += callsBegun(choice.delta)
}

/** `"` is escaped inside strings, so a member's name can only be found where it is one. */
const NAME = Buffer.from('"arguments"')
const OPENING = /^ ?: ?"/

/** The arguments in frames that nobody parses: enough of them to know where their strings and objects end. */
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
