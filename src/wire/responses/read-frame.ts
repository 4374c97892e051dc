import { type Fields, isObject } from '../../lib/is-object.ts'
import { isError, readError, type UpstreamSaid } from '../refusals/provider-error.ts'
import { parseData, readData } from '../sse/frame-data.ts'

/** One frame of a stream, as far as every answer has it. */
type ReadFrame =
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

/** How a response says that it is over. */
export type Ending =
  | { readonly kind: 'completed' }
  | { readonly kind: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' }
  | { readonly kind: 'failed'; readonly said: UpstreamSaid }

/** How an answer is over that is one. */
export type AnswerEnding = Exclude<Ending, { kind: 'failed' }>

/** From the last event of a stream, or from a whole response, whose status is all that it has. */
export function readEnding(response: Fields, event: string | undefined): Ending | undefined {
  const named = event === undefined ? undefined : ENDINGS.get(event)
  const said = typeof response.status === 'string' ? response.status : undefined
  // Servers that end every stream with `response.completed` tell the truth in the status.
  const status = said !== undefined && OVER.has(said) && (named ?? 'completed') === 'completed' ? said : named
  switch (status) {
    case 'completed':
      return { kind: 'completed' }
    case 'incomplete':
      return { kind: 'incomplete', reason: reasonOf(response.incomplete_details) }
    case 'failed':
    case 'cancelled':
      return { kind: 'failed', said: failureOf(response, status) }
    default:
      return undefined
  }
}

const ENDINGS: ReadonlyMap<string, string> = new Map([
  ['response.completed', 'completed'],
  ['response.done', 'completed'],
  ['response.incomplete', 'incomplete'],
  ['response.failed', 'failed'],
  ['response.cancelled', 'cancelled'],
])

const OVER = new Set(['completed', 'incomplete', 'failed', 'cancelled'])

export const isEnding = (event: string): boolean => ENDINGS.has(event)

const reasonOf = (details: unknown): 'max_output_tokens' | 'content_filter' =>
  isObject(details) && details.reason === 'content_filter' ? 'content_filter' : 'max_output_tokens'

const failureOf = ({ error }: Fields, status: string): UpstreamSaid =>
  isObject(error) || typeof error === 'string'
    ? readError(error)
    : { message: `The provider's response has the status "${status}".`, code: undefined }

/** An `error` event: flat, or nested, or both at once; the code may be null. */
export function readErrorEvent(event: Fields): UpstreamSaid {
  if (isObject(event.error) || typeof event.error === 'string') return readError(event.error)
  const { message, code } = event
  // The type of a flat one is "error" and says nothing.
  return readError({ message, code })
}
