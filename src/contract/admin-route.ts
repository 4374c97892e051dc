import { z } from 'zod'
import type { AdminScope } from './admin-keys.ts'
import { nothing } from './values.ts'

/** A file, which has no schema. */
const FILE = z.string()

type FileType = 'text/csv' | 'application/jsonl' | 'application/yaml'

/** An example of a request, which a test sends to a server. Ids in the path are not part of it. */
interface Example<Query extends z.ZodType, Body extends z.ZodType> {
  readonly query?: z.input<Query>
  readonly body?: z.input<Body>
}

/**
 * A route of the management API, relative to `/admin/v1`; `:name` in its path is an id, or an email where an account is named.
 * `any`: every valid admin key may call it.
 */
export interface AdminRoute<Query extends z.ZodType, Body extends z.ZodType, Answer extends z.ZodType> {
  readonly scope: AdminScope | 'any'
  /** Begins with a verb. */
  readonly summary: string
  readonly query: Query
  readonly body: Body
  readonly answer: Answer
  readonly example: Example<Query, Body>
  /** The media type of an answer that is a file. */
  readonly file?: FileType
}

export type AnyAdminRoute = AdminRoute<z.ZodType, z.ZodType, z.ZodType>

export const query = <Query extends z.ZodType, Answer extends z.ZodType>(
  scope: AdminScope | 'any',
  summary: string,
  querySchema: Query,
  answer: Answer,
  example: z.input<Query>,
): AdminRoute<Query, typeof nothing, Answer> => ({
  ...{ scope, summary, query: querySchema, body: nothing, answer, example: { query: example } },
})

export const mutation = <Body extends z.ZodType, Answer extends z.ZodType>(
  scope: AdminScope,
  summary: string,
  body: Body,
  answer: Answer,
  example: z.input<Body>,
): AdminRoute<typeof nothing, Body, Answer> => ({
  ...{ scope, summary, query: nothing, body, answer, example: { body: example } },
})

export const file = <Query extends z.ZodType>(
  scope: AdminScope,
  type: FileType,
  summary: string,
  querySchema: Query,
  example: z.input<Query>,
) => ({ ...query(scope, summary, querySchema, FILE, example), file: type })
