import { type Context, Hono } from 'hono'
import { CONSOLE_API, type RouteName } from '../../contract/console-api.ts'
import type { AnyRoute } from '../../contract/route.ts'
import { judgeAsker } from '../console/judge-asker.ts'
import type { AnyReply, Asking, Handlers } from './ask.ts'
import { readInput } from './read-input.ts'
import { writeRefusal, writeReply } from './write-reply.ts'

export type ConsoleApi = Hono<{ Bindings: Asking }>

const BASE = '/console/api'

/** The table of the contract, served: for each route whether this asker may, what came in, and what is answered. */
export function createConsoleApi({ now }: { readonly now: () => number }, handlers: Handlers): ConsoleApi {
  const api: ConsoleApi = new Hono()
  for (const [name, route] of Object.entries<AnyRoute>(CONSOLE_API)) {
    const [method = '', path = ''] = name.split(' ')
    // The table keeps a route and its handler together, which the union of all of them cannot say.
    const handler = handlers[name as RouteName] as unknown as AnyHandler
    api.on(method, BASE + path, (context) => answer(context, { route, handler, now: now() }))
  }
  api.notFound((context) => writeRefusal(context, 'not_found', 'The console has no such question.'))
  api.onError((error, context) => {
    context.env.log.error = error
    return writeRefusal(
      context,
      'internal_error',
      'Something went wrong on our side. Tell the operator the request id.',
    )
  })
  return api
}

type AnyHandler = (asking: Asking, input: unknown) => Promise<AnyReply>

interface Question {
  readonly route: AnyRoute
  readonly handler: AnyHandler
  readonly now: number
}

async function answer(context: Context<{ Bindings: Asking }>, { route, handler, now }: Question): Promise<Response> {
  const judged = judgeAsker(context.env, route, now)
  if (judged.kind === 'refused') return writeRefusal(context, judged.code, judged.message)
  const read = await readInput(context, route)
  if (read.kind === 'refused') return writeRefusal(context, read.code, read.message, { param: read.param })
  return writeReply(context, await handler(judged.asking, read.input))
}
