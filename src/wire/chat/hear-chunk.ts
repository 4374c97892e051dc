import { type Fields, isObject } from '../../lib/is-object.ts'
import type { Heard } from '../event-reader.ts'
import { tryParse } from '../json/try-parse.ts'
import { isError, readError, type UpstreamSaid } from '../provider-error.ts'
import { readData } from '../sse/read-data.ts'
import { saysFailure } from './mend-content.ts'

/** The chunk in a frame of a chat stream; undefined, with what it means noted, where there is none. */
export function hearChunk(heard: Pick<Heard, 'done' | 'garbled' | 'error'>, frame: Buffer): Fields | undefined {
  const data = readData(frame)
  // Comments are the provider's keep-alives; the client gets ours.
  if (data === undefined || data.length === 0) return undefined
  if (isDone(data)) {
    heard.done = true
    return undefined
  }
  const chunk = tryParse(data.toString('utf8'))
  if (!isObject(chunk)) {
    heard.garbled = true
    return undefined
  }
  const failed = chunk.error ?? (isObject(chunk.x_groq) ? chunk.x_groq.error : undefined)
  if (!isError(failed)) return chunk
  heard.error = readError(failed)
  return undefined
}

/**
 * Wherever a server puts it: in the chunk, in an extension, or, where one choice was asked for, in that choice (Moonshot's
 * docs, where it comes beside the finish reason). Of several choices none knows what the others have cost.
 */
export const reportedUsage = (chunk: Fields, choicesAsked: number): unknown =>
  chunk.usage ?? (isObject(chunk.x_groq) ? chunk.x_groq.usage : undefined) ?? usageInChoice(chunk, choicesAsked)

const usageInChoice = ({ choices }: Fields, choicesAsked: number): unknown => {
  const [choice] = choicesAsked === 1 && Array.isArray(choices) ? choices : []
  return isObject(choice) ? choice.usage : undefined
}

/** Some servers say in a finish reason that they have failed. */
export const failureInFinish = ({ finish_reason }: Fields): UpstreamSaid | undefined =>
  saysFailure(finish_reason) ? { message: `it ended with "${finish_reason}"`, code: undefined } : undefined

const DONE = Buffer.from('[DONE]')
const isDone = (data: Buffer) => data.length < 12 && data.indexOf(DONE) !== -1
