import { type Context, Hono } from 'hono'
import { CONSOLE_API, type RouteName } from '../../../contract/console-api.ts'
import { internalError } from '../../../model/problem.ts'
import type { ConsoleApi } from '../console-deps.ts'
import { refuse } from '../console-refusal.ts'
import { judgeAsker } from '../judge-asker.ts'
import { accountHandlers } from './account-handlers.ts'
import type { Asking, Handlers, RouteOf } from './ask.ts'
import type { ConsoleHouse } from './console-house.ts'
import { keyHandlers } from './key-handlers.ts'
import { operatorHandlers } from './operator-handlers.ts'
import { readInput } from './read-input.ts'
import { sessionHandlers } from './session-handlers.ts'
import { usageHandlers } from './usage-handlers.ts'
import { walletHandlers } from './wallet-handlers.ts'
import { writeRefusal, writeReply } from './write-reply.ts'

const BASE = '/console/api'

/** What comes in by a route, who may ask it and who answers it belong together by its name: so the compiler sees that they do. */
const ROUTES: { readonly [Name in RouteName]: RouteOf<Name> } = CONSOLE_API
const ROUTE_NAMES = Object.keys(ROUTES) as RouteName[]

/** The table of the contract, served: for each route whether this asker may, what came in, and what is answered. */
export function createConsoleApi(house: ConsoleHouse): ConsoleApi {
  const api = new Hono<{ Bindings: Asking }>()
  const handlers = handlersOf(house)
  for (const name of ROUTE_NAMES) {
    const [method = '', path = ''] = name.split(' ')
    api.on(method, BASE + path, (context) => answer(context, { name, handlers, now: house.clock.now() }))
  }
  api.notFound((context) => writeRefusal(context, refuse('not_found', 'The console has no such question.')))
  api.onError((error, context) => {
    context.env.log.error = error
    return writeRefusal(context, refuse('internal_error', internalError(context.env.requestId).message))
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

interface Question<Name extends RouteName> {
  readonly name: Name
  readonly handlers: Handlers
  readonly now: number
}

async function answer<Name extends RouteName>(
  context: Context<{ Bindings: Asking }>,
  { name, handlers, now }: Question<Name>,
): Promise<Response> {
  const route = ROUTES[name]
  const judged = judgeAsker(context.env, route, now)
  if (judged.kind === 'refused') return writeRefusal(context, judged)
  const read = await readInput<Name>(context, route)
  if (read.kind === 'refused') return writeRefusal(context, read)
  return writeReply(context, await handlers[name](judged.asking, read.input))
}
