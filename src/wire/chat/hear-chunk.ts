import { type Fields, isObject } from '../../lib/is-object.ts'
import type { Heard } from '../event-reader.ts'
import { isError, readError, type UpstreamSaid } from '../refusals/provider-error.ts'
import { parseData, readData } from '../sse/frame-data.ts'
import { saysFailure } from './said-words.ts'

/** The chunk in a frame of a chat stream; undefined, with what it means noted, where there is none. */
export function hearChunk(heard: Pick<Heard, 'done' | 'garbled' | 'error'>, frame: Buffer): Fields | undefined {
  const data = readData(frame)
  // Comments are the provider's keep-alives; the client gets ours.
  if (data === undefined || data.length === 0) return undefined
  if (isDone(data)) {
    heard.done = true
    return undefined
  }
  const chunk = parseData(data)
  if (!isObject(chunk)) {
    heard.garbled = true
    return undefined
  }
  const failed = chunk.error ?? (isObject(chunk.x_groq) ? chunk.x_groq.error : undefined)
  if (!isError(failed)) return chunk
  heard.error = readError(failed)
  return undefined
}

/** Some servers say in a finish reason that they have failed. */
export const failureInFinish = ({ finish_reason }: Fields): UpstreamSaid | undefined =>
  saysFailure(finish_reason) ? { message: `it ended with "${finish_reason}"`, code: undefined } : undefined

const DONE = Buffer.from('[DONE]')
const isDone = (data: Buffer) => data.length < 12 && data.indexOf(DONE) !== -1
