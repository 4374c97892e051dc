import { dataFrame } from '../sse/format-frame.ts'
import type { Fields } from './mend-tool-calls.ts'

export interface ModelRenamer {
  readonly to: string
  apply(frame: Buffer, chunk: Fields): Buffer
}

/**
 * Puts the name that the client knows in place of the lane's. Inside JSON strings quotes are escaped, so the quoted
 * member can only be found where it is one; where a server writes it otherwise, or writes it twice, the frame is written
 * anew.
 */
export function createModelRenamer(laneModel: string, publicModel: string): ModelRenamer {
  const needle = Buffer.from(`"model":${JSON.stringify(laneModel)}`)
  const replacement = Buffer.from(`"model":${JSON.stringify(publicModel)}`)
  return {
    to: publicModel,
    apply(frame, chunk) {
      if (chunk.model === publicModel) return frame
      const at = frame.indexOf(needle)
      const isSure = at !== -1 && chunk.model === laneModel && frame.indexOf(needle, at + needle.length) === -1
      if (!isSure) return dataFrame({ ...chunk, model: publicModel })
      return Buffer.concat([frame.subarray(0, at), replacement, frame.subarray(at + needle.length)])
    },
  }
}
