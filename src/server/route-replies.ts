import type { z } from 'zod'
import { type OperationRefused, REFUSALS } from '../admin/outcome.ts'
import type { AnyRoute } from '../contract/values.ts'

/** What handlers of the console and of the management API take and return. */

/** Refusals of the edge, before a use case is called. */
const EDGE_STATUSES = {
  host_not_allowed: 421,
  https_needed: 403,
  other_site: 403,
  session_ended: 401,
  second_factor_needed: 403,
  operators_only: 403,
  no_account: 403,
  not_found: 404,
  method_not_allowed: 405,
  body_too_large: 413,
  json_needed: 415,
  too_many_requests: 429,
  server_draining: 503,
  database_unavailable: 503,
  internal_error: 500,
} as const

/** The HTTP status of each code. */
export const REFUSAL_STATUSES = { ...EDGE_STATUSES, ...REFUSALS }

type RefusalCode = keyof typeof REFUSAL_STATUSES

export interface RouteRefusal extends Pick<OperationRefused, 'kind' | 'message' | 'param' | 'retryAfterSeconds'> {
  readonly code: RefusalCode
}

export const refuse = (
  code: RefusalCode,
  message: string,
  advice: Pick<OperationRefused, 'param' | 'retryAfterSeconds'> = {},
): RouteRefusal => ({ kind: 'refused', code, message, ...advice })

/** The input of a handler, read by the schemas of its route. */
export interface InputOf<Route extends Pick<AnyRoute, 'query' | 'body'>, Params> {
  readonly params: Params
  readonly query: z.output<Route['query']>
  readonly body: z.output<Route['body']>
}

/** Views are made of read-only values. */
export type ReadOnly<Value> = Value extends readonly (infer Item)[]
  ? readonly ReadOnly<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: ReadOnly<Value[Key]> }
    : Value

/** A file that is made while it is sent. */
export interface FileReply {
  readonly kind: 'file'
  readonly name: string
  readonly pieces: AsyncIterable<string> | Iterable<string>
}

/** What operators manage, for the configuration file. */
export const managedFile = ({ yaml }: { readonly yaml: string }): FileReply => ({
  ...{ kind: 'file', name: 'millrace-managed.yaml', pieces: [yaml] },
})
