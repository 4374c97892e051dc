import type { Context } from 'hono'
import { z } from 'zod'
import type { AnyRoute } from '../../../contract/route.ts'
import { named } from '../../../contract/values.ts'
import type { ConsoleCode } from '../console-refusal.ts'
import type { Asking } from './ask.ts'

type ReadInput =
  | { readonly kind: 'read'; readonly input: unknown }
  | { readonly kind: 'refused'; readonly code: ConsoleCode; readonly message: string; readonly param?: string }

/** What stands in path, query and body, read by the schemas of the route. */
export async function readInput(context: Context<{ Bindings: Asking }>, route: AnyRoute): Promise<ReadInput> {
  const params = PARAMS.safeParse(context.req.param())
  if (!params.success) return NO_SUCH_ID
  const body = await readBody(context)
  if (body.kind === 'refused') return body
  const query = route.query.safeParse(context.req.query())
  if (!query.success) return wrong(query.error, 'The query')
  const read = route.body.safeParse(body.value)
  if (!read.success) return wrong(read.error, 'The body')
  return { kind: 'read', input: { params: params.data, query: query.data, body: read.data } }
}

/** What nobody could have been given as an id names nothing. */
const PARAMS = z.record(z.string(), named)
const NO_SUCH_ID = { kind: 'refused', code: 'not_found', message: 'There is nothing of this name.' } as const

type Body = { readonly kind: 'read'; readonly value: unknown } | Extract<ReadInput, { kind: 'refused' }>

async function readBody({ req }: Context<{ Bindings: Asking }>): Promise<Body> {
  const text = await req.text()
  if (text === '') return { kind: 'read', value: {} }
  // A form of another page can send text, but not this type without asking first.
  if (!/^application\/json\b/i.test(req.header('content-type') ?? '')) {
    return { kind: 'refused', code: 'json_needed', message: 'Send the body as application/json.' }
  }
  try {
    return { kind: 'read', value: JSON.parse(text) }
  } catch {
    return { kind: 'refused', code: 'invalid_arguments', message: 'The body is not JSON.' }
  }
}

/** The first fault: one field at a time can be mended anyway. */
function wrong({ issues: [issue] }: z.ZodError, where: string): Extract<ReadInput, { kind: 'refused' }> {
  const param = issue === undefined ? '' : issue.path.join('.')
  const message = `${param === '' ? where : param}: ${issue?.message ?? 'cannot be read'}`
  return { kind: 'refused', code: 'invalid_arguments', message, ...(param === '' ? {} : { param }) }
}
