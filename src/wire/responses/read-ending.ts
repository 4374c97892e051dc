import { type Fields, isObject } from '../../lib/is-object.ts'
import { readError, type UpstreamSaid } from '../refusals/provider-error.ts'

/** How a response says that it is over. */
export type ResponseEnding =
  | { readonly kind: 'completed' }
  | { readonly kind: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' }
  | { readonly kind: 'failed'; readonly said: UpstreamSaid }

/** How an answer is over that is one. */
export type AnswerEnding = Exclude<ResponseEnding, { kind: 'failed' }>

/** From the last event of a stream, or from a whole response, whose status is all that it has. */
export function readEnding(response: Fields, event: string | undefined): ResponseEnding | undefined {
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
