import { type Fields, isObject } from '../../lib/is-object.ts'
import type { Heard } from '../heard.ts'
import { isError, readError } from '../refusals/provider-error.ts'
import { hearData } from '../sse/frame-data.ts'

/** The chunk in a frame of a chat stream; undefined, with what it means noted, where there is none. */
export function hearChunk(heard: Pick<Heard, 'done' | 'invalid' | 'error'>, frame: Buffer): Fields | undefined {
  const chunk = hearData(heard, frame)
  if (chunk === undefined) return undefined
  const failed = chunk.error ?? (isObject(chunk.x_groq) ? chunk.x_groq.error : undefined)
  if (!isError(failed)) return chunk
  heard.error = readError(failed)
  return undefined
}
