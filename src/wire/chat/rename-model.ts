import type { Fields } from '../../lib/is-object.ts'

export interface ModelRenamer {
  readonly to: string
  wayFor(frame: Buffer, chunk: Fields): RenameWay
  /** Takes one frame, or several of which each has the member as the one had whose way this is. */
  apply(way: Exclude<RenameWay, 'anew'>, frames: Buffer): Buffer
}

/** It has the right name already, or the name can be put in place, or the frame has to be written anew. */
export type RenameWay = 'none' | 'in-place' | 'anew'

/**
 * Puts the name that the client knows in place of the lane's. Inside JSON strings quotes are escaped, so the quoted
 * member can only be found where it is one; where a server writes it otherwise, or writes it twice, that is not sure.
 */
export function createModelRenamer(laneModel: string, publicModel: string): ModelRenamer {
  const needle = Buffer.from(`"model":${JSON.stringify(laneModel)}`)
  const replacement = Buffer.from(`"model":${JSON.stringify(publicModel)}`)
  const [needleText, replacementText] = [needle.toString('latin1'), replacement.toString('latin1')]
  return {
    to: publicModel,
    wayFor(frame, chunk) {
      if (chunk.model === publicModel) return 'none'
      const at = frame.indexOf(needle)
      const isSure = at !== -1 && chunk.model === laneModel && frame.indexOf(needle, at + needle.length) === -1
      return isSure ? 'in-place' : 'anew'
    },
    apply(way, frames) {
      if (way === 'none') return frames
      // Latin-1 has a character for each byte, whatever the bytes mean.
      return Buffer.from(frames.toString('latin1').split(needleText).join(replacementText), 'latin1')
    },
  }
}
