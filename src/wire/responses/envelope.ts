import type { Fields } from '../../lib/is-object.ts'

/** What every frame of one streamed response has in common: its ids and its numbers, from the first frame to the last. */
export interface Envelope {
  readonly responseId: string
  /** The public model id that the client asked for. */
  readonly model: string
  /** One SSE frame with the next sequence number. */
  frame(type: string, fields: Readonly<Record<string, unknown>>): Buffer
  /** `response.created` and `response.in_progress`, unless they have been said; an empty Buffer then. Must come before any other frame. */
  opening(): Buffer
  /** The whole response object in a state. */
  response(state: ResponseState): Fields
  /** True once `response.created` has been said. */
  readonly isOpen: boolean
}

export interface ResponseState {
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'
  output: readonly Fields[]
  usage?: Fields
  error?: { code: string; message: string }
  incompleteReason?: 'max_output_tokens' | 'content_filter'
  completedAt?: number
}
