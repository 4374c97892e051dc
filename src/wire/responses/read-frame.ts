import { type Fields, isObject } from '../../lib/is-object.ts'
import { isError } from '../provider-error.ts'
import { parseData } from '../sse/parse-data.ts'
import { readData } from '../sse/read-data.ts'

/** One frame of a stream, as far as every answer has it. */
export type ReadFrame =
  | { readonly kind: 'event'; readonly type: string; readonly event: Fields }
  | { readonly kind: 'done' }
  /** A comment, a ping, an event without data. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'garbled' }

const NOTHING: ReadFrame = { kind: 'nothing' }

export function readFrame(frame: Buffer): ReadFrame {
  const data = readData(frame)
  if (data === undefined || data.length === 0) return NOTHING
  if (data.length < 12 && data.indexOf(DONE) !== -1) return { kind: 'done' }
  const event = parseData(data)
  if (!isObject(event)) return { kind: 'garbled' }
  if (typeof event.type === 'string' && event.type !== '' && !isBareError(event)) {
    return { kind: 'event', type: event.type, event }
  }
  return { kind: 'event', type: isBareError(event) ? 'error' : nameOf(frame), event }
}

const DONE = Buffer.from('[DONE]')

/** Some servers break off with the body that they would refuse with: `{"error": …}` and no word of an event. */
const isBareError = (event: Fields): boolean =>
  isError(event.error) && !(typeof event.type === 'string' && event.type.startsWith('response.'))

/** The name on the `event:` line: it repeats the type, and is asked only where the data has none. */
const nameOf = (frame: Buffer): string =>
  /(?:^|\n)event: ?([\w.]+)/.exec(frame.toString('latin1', 0, NAME_WITHIN_BYTES))?.[1] ?? ''

const NAME_WITHIN_BYTES = 200
