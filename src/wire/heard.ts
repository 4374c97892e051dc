import type { InputUsage, Usage } from '../model/usage.ts'
import type { UpstreamSaid } from './refusals/provider-error.ts'

/** What has been learned so far of a stream that a lane sends. */
export interface Heard {
  /** The last usage that was reported. */
  usage: Usage | undefined
  /** What it has counted of its input before the output: all there is of its counts in an answer that breaks off. */
  inputCounted: InputUsage | undefined
  /** Bytes of text, reasoning and tool arguments that were produced: the base of an estimate where usage is absent. */
  outputBytes: number
  /** Of those, how many wait here for their turn and have not been handed on. */
  heldBytes: number
  /** The lane has said why the answer ends; its counts may still come. */
  finished: boolean
  /** The lane has said that nothing more comes. */
  done: boolean
  /** The lane's own error inside the stream. */
  error: UpstreamSaid | undefined
  /** Something came that is not the lane's protocol. */
  garbled: boolean
}

export const nothingHeard = (): Heard => ({
  usage: undefined,
  inputCounted: undefined,
  outputBytes: 0,
  heldBytes: 0,
  finished: false,
  done: false,
  error: undefined,
  garbled: false,
})
