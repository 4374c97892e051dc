import type { Context } from 'hono'
import type { z } from 'zod'
import { type Outcome, refused } from '../../../account/outcome.ts'
import { type PageArgs, pageArgs } from '../../../account/pages.ts'
import type { AnyRoute } from '../../../contract/route.ts'
import { type ConsoleRefusal, refuse } from '../console-refusal.ts'
import type { Asking } from './ask.ts'

type ReadInput = { readonly kind: 'read'; readonly input: unknown } | ConsoleRefusal

/** What stands in path, query and body, read by the schemas of the route. */
export async function readInput(context: Context<{ Bindings: Asking }>, route: AnyRoute): Promise<ReadInput> {
  const params = context.req.param()
  // No id has them, and no database takes a text with a NUL.
  if (Object.values(params).some((id) => id.length > ID_MAX || /\p{Cc}/u.test(id))) return NO_SUCH_ID
  const body = await readBody(context)
  if (body.kind === 'refused') return body
  const query = route.query.safeParse(context.req.query())
  if (!query.success) return wrong(query.error, 'The query')
  const read = route.body.safeParse(body.value)
  if (!read.success) return wrong(read.error, 'The body')
  return { kind: 'read', input: { params, query: query.data, body: read.data } }
}

/** An e-mail is the longest thing that names something. */
const ID_MAX = 320
const NO_SUCH_ID = refuse('not_found', 'There is nothing of this name.')

type Body = { readonly kind: 'read'; readonly value: unknown } | ConsoleRefusal

async function readBody({ req }: Context<{ Bindings: Asking }>): Promise<Body> {
  const text = await req.text()
  if (text === '') return { kind: 'read', value: {} }
  // A form of another page can send text, but not this type without asking first.
  if (!/^application\/json\b/i.test(req.header('content-type') ?? '')) {
    return refuse('json_needed', 'Send the body as application/json.')
  }
  try {
    return { kind: 'read', value: JSON.parse(text) }
  } catch {
    return refuse('invalid_arguments', 'The body is not JSON.')
  }
}

/** The first fault: one field at a time can be mended anyway. */
function wrong({ issues: [issue] }: z.ZodError, where: string): ConsoleRefusal {
  const param = issue === undefined ? '' : issue.path.join('.')
  const message = `${param === '' ? where : param}: ${issue?.message ?? 'cannot be read'}`
  return refuse('invalid_arguments', message, param === '' ? {} : { param })
}

/**
 * Does something with what a page has sent, read as the use case has it read for the command line: the contract says what
 * a form may hold, and only these know the one spelling of an e-mail and the references that are not an operator's to give.
 */
export async function withArgs<Schema extends z.ZodType, Value>(
  schema: Schema,
  args: z.input<Schema>,
  run: (args: z.output<Schema>) => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> {
  const read = schema.safeParse(args)
  if (read.success) return run(read.data)
  const [issue] = read.error.issues
  return refused('invalid_arguments', `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'cannot be read'}`)
}

/** A page as the use cases ask for one, of a query whose parts are there or not. */
export const pageOf = ({ after, limit }: { after?: string | undefined; limit?: number | undefined }): PageArgs =>
  pageArgs.parse({ ...(after !== undefined && { after }), ...(limit !== undefined && { limit }) })
