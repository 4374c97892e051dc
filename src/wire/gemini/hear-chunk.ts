import { type Fields, isObject } from '../../lib/is-object.ts'
import type { Heard } from '../event-reader.ts'
import { isError, readError } from '../refusals/provider-error.ts'
import { parseData, readData } from '../sse/frame-data.ts'

/** The chunk in a frame; undefined, with what it means noted, where there is none. */
export function hearChunk(heard: Pick<Heard, 'done' | 'garbled' | 'error'>, frame: Buffer): Fields | undefined {
  const data = readData(frame)
  if (data === undefined || data.length === 0) {
    heard.garbled = isBareJson(frame)
    return undefined
  }
  const text = data.toString('utf8')
  // Google's streams just end; a server between it and us may say so.
  if (text.trim() === '[DONE]') {
    heard.done = true
    return undefined
  }
  const chunk = parseData(data)
  if (!isObject(chunk)) {
    heard.garbled = true
    return undefined
  }
  if (!isError(chunk.error)) return chunk
  heard.error = readError(chunk.error)
  return undefined
}

/** Who overlooks that events are asked for answers with one list of all chunks. */
const isBareJson = (frame: Buffer): boolean => OPENING.has(frame[0])
const OPENING: ReadonlySet<number | undefined> = new Set(Buffer.from('[{'))
