import { type Fields, isObject } from '../../lib/is-object.ts'
import type { Heard } from '../heard.ts'
import { isError, readError, type UpstreamSaid } from '../refusals/provider-error.ts'
import { hearData, nameOfFrame } from '../sse/frame-data.ts'

/** What a frame says, and under which name. */
export interface NamedEvent {
  readonly type: string
  readonly event: Fields
}

/** The event in a frame; undefined, with what it means noted, where there is none. */
export function hearEvent(heard: Pick<Heard, 'done' | 'invalid' | 'error'>, frame: Buffer): NamedEvent | undefined {
  const event = hearData(heard, frame)
  if (event === undefined) return undefined
  const type = typeof event.type === 'string' && event.type !== '' ? event.type : nameOfFrame(frame)
  if (type !== 'error' && !isBareError(event)) return { type, event }
  heard.error = readErrorEvent(event)
  return undefined
}

/** Some servers break off with the body that they would refuse with: `{"error": …}` and no word of an event. */
const isBareError = (event: Fields): boolean =>
  isError(event.error) && !(typeof event.type === 'string' && event.type.startsWith('response.'))

/** An `error` event: flat, or nested, or both at once; the code may be null. */
function readErrorEvent(event: Fields): UpstreamSaid {
  if (isObject(event.error) || typeof event.error === 'string') return readError(event.error)
  const { message, code } = event
  // The type of a flat one is "error" and says nothing.
  return readError({ message, code })
}
