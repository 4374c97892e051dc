import type { Usage } from '../../model/usage.ts'
import { dataFrame } from '../sse/format-frame.ts'
import { readData } from '../sse/read-data.ts'
import { isObject } from './check-fields.ts'
import { readUsage } from './read-usage.ts'

/** What listens in a relayed stream: it passes frames on as they came, and picks out the few that matter. */
export interface ChatTap {
  /** One frame of the provider's: what of it goes to the client now. */
  read(frame: Buffer): TappedFrame
  readonly heard: ChatHeard
}

export interface TappedFrame {
  /** Undefined when nothing of this frame is for the client, or not yet. */
  readonly bytes: Buffer | undefined
  /** There is text, reasoning, a refusal or a tool call in it. */
  readonly isContent: boolean
}

/** What the tap has learned so far. */
export interface ChatHeard {
  /** The last usage that was reported. */
  usage: Usage | undefined
  /** Bytes of text, reasoning and tool arguments: the base of an estimate where usage is absent. */
  outputBytes: number
  /** Every choice has said why it ended. */
  finished: boolean
  /** The provider said `[DONE]`. */
  done: boolean
  /** The provider's own error inside the stream. */
  error: UpstreamSaid | undefined
  /** A frame that was not JSON. */
  garbled: boolean
  /** What the usage chunk, which is written after the settle, repeats of the stream. */
  head: { id: unknown; created: unknown; systemFingerprint: unknown } | undefined
}

export interface UpstreamSaid {
  readonly message: string
  readonly code: string | undefined
}

const NOTHING: TappedFrame = { bytes: undefined, isContent: false }

export function createChatTap(options: { readonly laneModel: string; readonly publicModel: string }): ChatTap {
  const heard: ChatHeard = {
    usage: undefined,
    outputBytes: 0,
    finished: false,
    done: false,
    error: undefined,
    garbled: false,
    head: undefined,
  }
  const rename = modelRenamer(options.laneModel, options.publicModel)
  return { heard, read: (frame) => readFrame(heard, rename, frame) }
}

function readFrame(heard: ChatHeard, rename: Renamer, frame: Buffer): TappedFrame {
  const data = readData(frame)
  // Comments are the provider's keep-alives; the client gets ours.
  if (data === undefined || data.length === 0) return NOTHING
  if (isDone(data)) {
    heard.done = true
    return NOTHING
  }
  const chunk = parse(data)
  if (!isObject(chunk)) {
    heard.garbled = true
    return NOTHING
  }
  if (isError(chunk.error)) {
    heard.error = readError(chunk.error)
    return NOTHING
  }
  return readChunk(heard, rename, frame, chunk)
}

function readChunk(heard: ChatHeard, rename: Renamer, frame: Buffer, chunk: Record<string, unknown>): TappedFrame {
  heard.head ??= { id: chunk.id, created: chunk.created, systemFingerprint: chunk.system_fingerprint }
  const usage = readUsage(chunk.usage)
  if (usage) heard.usage = usage
  const choices = Array.isArray(chunk.choices) ? chunk.choices.filter(isObject) : []
  const bytesBefore = heard.outputBytes
  for (const choice of choices) readChoice(heard, choice)
  // The usage chunk is ours to write, after the settle; a chunk without choices has nothing else in it.
  if (choices.length === 0) return NOTHING
  const isContent = heard.outputBytes > bytesBefore
  if (isObject(chunk.usage)) return { bytes: dataFrame({ ...chunk, model: rename.to, usage: null }), isContent }
  return { bytes: rename.apply(frame, chunk), isContent }
}

/** The fields of a delta that carry words, in the dialects seen. */
const WORDS = ['content', 'reasoning_content', 'reasoning', 'refusal'] as const

function readChoice(heard: ChatHeard, choice: Record<string, unknown>): void {
  if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') heard.finished = true
  const { delta } = choice
  if (!isObject(delta)) return
  for (const name of WORDS) {
    const words = delta[name]
    if (typeof words === 'string') heard.outputBytes += Buffer.byteLength(words)
  }
  if (Array.isArray(delta.tool_calls)) {
    for (const call of delta.tool_calls) heard.outputBytes += bytesOfCall(call)
  }
}

function bytesOfCall(call: unknown): number {
  if (!isObject(call) || !isObject(call.function)) return 0
  const { name, arguments: args } = call.function
  return (
    (typeof name === 'string' ? Buffer.byteLength(name) : 0) + (typeof args === 'string' ? Buffer.byteLength(args) : 0)
  )
}

const DONE = Buffer.from('[DONE]')
const isDone = (data: Buffer) => data.length < 12 && data.indexOf(DONE) !== -1

function parse(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString('utf8'))
  } catch {
    return undefined
  }
}

const isError = (error: unknown): boolean => error !== undefined && error !== null && error !== false && error !== ''

/** Providers spell errors in many ways; a message and a code are all that is kept of them. */
export function readError(error: unknown): UpstreamSaid {
  if (typeof error === 'string') return { message: error, code: undefined }
  if (!isObject(error)) return { message: 'The provider reported an error.', code: undefined }
  const { message, code, type } = error
  const word = code ?? type
  return {
    message: typeof message === 'string' ? message : 'The provider reported an error.',
    code: word === undefined || word === null ? undefined : String(word),
  }
}

interface Renamer {
  readonly to: string
  apply(frame: Buffer, chunk: Record<string, unknown>): Buffer
}

/**
 * Puts the name that the client knows in place of the lane's. Inside JSON strings quotes are escaped, so the quoted
 * member can only be found where it is one; where a server writes it otherwise, the frame is written anew.
 */
function modelRenamer(laneModel: string, publicModel: string): Renamer {
  const needle = Buffer.from(`"model":${JSON.stringify(laneModel)}`)
  const replacement = Buffer.from(`"model":${JSON.stringify(publicModel)}`)
  return {
    to: publicModel,
    apply(frame, chunk) {
      if (chunk.model === publicModel) return frame
      const at = frame.indexOf(needle)
      if (at === -1) return dataFrame({ ...chunk, model: publicModel })
      return Buffer.concat([frame.subarray(0, at), replacement, frame.subarray(at + needle.length)])
    },
  }
}
