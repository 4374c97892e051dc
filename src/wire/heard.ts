import type { InputUsage, Usage } from '../model/usage.ts'
import type { UpstreamSaid } from './refusals/provider-error.ts'

/** What has been learned so far of a stream that a lane sends. */
export interface Heard {
  /** The last usage that was reported. */
  usage: Usage | undefined
  /** It counts the whole answer. What is told before the answer ends is a lower bound. */
  usageIsFinal: boolean
  /** `outputBytes` when the usage was reported. */
  countedBytes: number
  /** What it has counted of its input before the output: all there is of its counts in an answer that breaks off. */
  inputCounted: InputUsage | undefined
  /** Bytes of text, reasoning and tool arguments that were produced: the base of an estimate where usage is absent. */
  outputBytes: number
  /** Frames that have brought words: many servers send one for each token. */
  wordFrames: number
  /** Tool calls that have begun. */
  calls: number
  /** Of those bytes, how many wait here for their turn and have not been handed on. */
  heldBytes: number
  /** The lane has said why the answer ends; its counts may still come. */
  finished: boolean
  /** The lane has said that nothing more comes. */
  done: boolean
  /** The lane's own error inside the stream. */
  error: UpstreamSaid | undefined
  /** What makes the answer invalid, so that it has failed; undefined while it is valid. */
  invalid: string | undefined
}

export const nothingHeard = (): Heard => ({
  usage: undefined,
  usageIsFinal: false,
  countedBytes: 0,
  inputCounted: undefined,
  outputBytes: 0,
  wordFrames: 0,
  calls: 0,
  heldBytes: 0,
  finished: false,
  done: false,
  error: undefined,
  invalid: undefined,
})

/**
 * Takes the usage that a frame has reported, after everything else of the frame was read. It is final when it came with the
 * finish or behind it, and when no more output came between it and the finish.
 */
export function hearUsage(heard: Heard, usage: Usage | undefined): void {
  const isNew = usage !== undefined && usage !== heard.usage
  if (isNew) {
    heard.usage = usage
    heard.countedBytes = heard.outputBytes
  }
  if (!heard.finished || heard.usageIsFinal || heard.usage === undefined) return
  heard.usageIsFinal = isNew || (heard.usage.output > 0 && heard.countedBytes === heard.outputBytes)
}
