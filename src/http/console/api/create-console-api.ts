import { type Context, Hono } from 'hono'
import { CONSOLE_API, type RouteName } from '../../../contract/console-api.ts'
import type { AnyRoute } from '../../../contract/route.ts'
import { refuse } from '../console-refusal.ts'
import { judgeAsker } from '../judge-asker.ts'
import { accountHandlers } from './account-handlers.ts'
import type { AnyReply, Asking, Handlers } from './ask.ts'
import type { ConsoleHouse } from './console-house.ts'
import { keyHandlers } from './key-handlers.ts'
import { operatorHandlers } from './operator-handlers.ts'
import { readInput } from './read-input.ts'
import { sessionHandlers } from './session-handlers.ts'
import { usageHandlers } from './usage-handlers.ts'
import { walletHandlers } from './wallet-handlers.ts'
import { writeRefusal, writeReply } from './write-reply.ts'

export type ConsoleApi = Hono<{ Bindings: Asking }>

const BASE = '/console/api'

/** The table of the contract, served: for each route whether this asker may, what came in, and what is answered. */
export function createConsoleApi(house: ConsoleHouse): ConsoleApi {
  const api: ConsoleApi = new Hono()
  const handlers = handlersOf(house)
  for (const [name, route] of Object.entries<AnyRoute>(CONSOLE_API)) {
    const [method = '', path = ''] = name.split(' ')
    // The table keeps a route and its handler together, which the union of all of them cannot say.
    const handler = handlers[name as RouteName] as unknown as AnyHandler
    api.on(method, BASE + path, (context) => answer(context, { route, handler, now: house.clock.now() }))
  }
  api.notFound((context) => writeRefusal(context, refuse('not_found', 'The console has no such question.')))
  api.onError((error, context) => {
    context.env.log.error = error
    const message = 'Something went wrong on our side. Tell the operator the request id.'
    return writeRefusal(context, refuse('internal_error', message))
  })
  return api
}

/** Whoever asks what, here is who answers. The compiler misses a route that nobody does. */
const handlersOf = (house: ConsoleHouse): Handlers => ({
  ...sessionHandlers(house),
  ...keyHandlers(house),
  ...walletHandlers(house),
  ...usageHandlers(house),
  ...accountHandlers(house),
  ...operatorHandlers(house),
})

type AnyHandler = (asking: Asking, input: unknown) => Promise<AnyReply>

interface Question {
  readonly route: AnyRoute
  readonly handler: AnyHandler
  readonly now: number
}

async function answer(context: Context<{ Bindings: Asking }>, { route, handler, now }: Question): Promise<Response> {
  const judged = judgeAsker(context.env, route, now)
  if (judged.kind === 'refused') return writeRefusal(context, judged)
  const read = await readInput(context, route)
  if (read.kind === 'refused') return writeRefusal(context, read)
  return writeReply(context, await handler(judged.asking, read.input))
}
