import type { Context } from 'hono'
import { z } from 'zod'
import type { ParamsOf, RouteName } from '../../../contract/console-api.ts'
import { named } from '../../../contract/values.ts'
import { type ConsoleRefusal, refuse } from '../console-refusal.ts'
import type { Asking, Input, RouteOf } from './ask.ts'

type ReadInput<Name extends RouteName> = { readonly kind: 'read'; readonly input: Input<Name> } | ConsoleRefusal

/** What stands in path, query and body, read by the schemas of the route. */
export async function readInput<Name extends RouteName>(
  context: Context<{ Bindings: Asking }>,
  route: RouteOf<Name>,
): Promise<ReadInput<Name>> {
  const params = PARAMS.safeParse(context.req.param())
  if (!params.success) return NO_SUCH_ID
  const sent = await readBody(context)
  if (sent.kind === 'refused') return sent
  const query = route.query.safeParse(context.req.query())
  if (!query.success) return wrong(query.error, 'The query')
  const body = route.body.safeParse(sent.value)
  if (!body.success) return wrong(body.error, 'The body')
  return { kind: 'read', input: { params: params.data as ParamsOf<Name>, query: query.data, body: body.data } }
}

/** What nobody could have been given as an id names nothing. Which ids there are, the path of the route has said. */
const PARAMS = z.record(z.string(), named)
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
