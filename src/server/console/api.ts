import { type Context, Hono } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { z } from 'zod'
import { CONSOLE_API, type ParamsOf, type RouteName } from '../../contract/console-api.ts'
import { named } from '../../contract/values.ts'
import { gatherBytes } from '../../lib/bytes.ts'
import { assertNever } from '../../lib/types.ts'
import { internalError, type Problem } from '../../model/problem.ts'
import { requestBody } from '../body.ts'
import { withoutOrigin } from '../paths.ts'
import { type Exchange, whenDrained } from '../request-context.ts'
import { endAnswer, type Headers, sendJsonBytes, sendProblem, watchClient, writeHead } from '../respond.ts'
import type { ConsoleApi, ConsoleDeps } from './deps.ts'
import { CONSOLE_CODES, type ConsoleRefusal, consoleErrorOf, refuse, sendRefusal } from './errors.ts'
import { API_HEADERS } from './files.ts'
import type { AnyReply, Asking, ConsoleServices, FileReply, Handlers, Input, RouteOf } from './handler.ts'
import { operatorHandlers } from './operator-handlers.ts'
import { accountHandlers, keyHandlers, usageHandlers, walletHandlers } from './owner-handlers.ts'
import { authorizeRequester, deviceCookie, endedCookie, findSignedIn, openAsking, sessionCookie } from './session.ts'
import { sessionHandlers } from './session-handlers.ts'
import type { Site } from './site.ts'

/** What the console asks: taken in here, and then handed to the routes. */
export async function serveApi(exchange: Exchange, deps: ConsoleDeps, site: Site): Promise<void> {
  const asking = openAsking(exchange, site)
  const body = asking.changes ? await readSmallBody(exchange) : undefined
  // An answer that nobody waits for is owed all the same: until it ends, nothing else would ever close this connection.
  if (body?.kind === 'gone') return void exchange.response.destroy()
  if (body?.kind === 'broken') return sendProblem(exchange, body.problem)
  if (body?.kind === 'too-large') {
    return sendRefusal(exchange, refuse('body_too_large', 'No form of the console is as large as this.'))
  }
  const signedIn = await findSignedIn(exchange, deps, site)
  const answer = await deps.api.fetch(requestOf(exchange, site, body?.bytes), { ...asking, signedIn })
  await sendAnswer(exchange, answer)
}

/** Of its headers the routes read one. */
function requestOf({ request }: Exchange, site: Site, body: Buffer | undefined): Request {
  const type = request.headers['content-type']
  const hasBody = body !== undefined && body.length > 0
  return new Request(site.origin + withoutOrigin(request.url ?? '/'), {
    method: request.method ?? 'GET',
    headers: type === undefined ? {} : { 'content-type': type },
    ...(hasBody && { body: new Uint8Array(body) }),
  })
}

const BASE = '/console/api'

/** What comes in by a route, who may ask it and who answers it belong together by its name: so the compiler sees that they do. */
const ROUTES: { readonly [Name in RouteName]: RouteOf<Name> } = CONSOLE_API
const ROUTE_NAMES = Object.keys(ROUTES) as RouteName[]

/** The table of the contract, served: for each route whether this asker may, what came in, and what is answered. */
export function createConsoleApi(house: ConsoleServices): ConsoleApi {
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
const handlersOf = (house: ConsoleServices): Handlers => ({
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
  const judged = authorizeRequester(context.env, route, now)
  if (judged.kind === 'refused') return writeRefusal(context, judged)
  const read = await readInput<Name>(context, route)
  if (read.kind === 'refused') return writeRefusal(context, read)
  return writeReply(context, await handlers[name](judged.asking, read.input))
}

type ReadInput<Name extends RouteName> = { readonly kind: 'read'; readonly input: Input<Name> } | ConsoleRefusal

/** What stands in path, query and body, read by the schemas of the route. */
async function readInput<Name extends RouteName>(
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

type AskingContext = Context<{ Bindings: Asking }>

/** What a handler said, as an answer of HTTP. */
function writeReply(context: AskingContext, reply: AnyReply): Response {
  switch (reply.kind) {
    case 'done':
      return context.json(reply.value as object)
    case 'refused': {
      const { reason: code, ...rest } = reply
      return writeRefusal(context, { code, ...rest })
    }
    case 'session': {
      const { site } = context.env
      const { deviceTokens } = reply
      context.header('set-cookie', reply.secret === undefined ? endedCookie(site) : sessionCookie(reply.secret, site))
      if (deviceTokens !== undefined) context.header('set-cookie', deviceCookie(deviceTokens, site), { append: true })
      return context.json(reply.value as object)
    }
    case 'file':
      return writeFile(context, reply)
    default:
      return assertNever(reply)
  }
}

function writeRefusal(context: AskingContext, refusal: ConsoleRefusal): Response {
  const { code, retryAfterSeconds } = refusal
  const { requestId, log } = context.env
  log.code = code
  if (retryAfterSeconds !== undefined) context.header('retry-after', String(retryAfterSeconds))
  return context.json(consoleErrorOf(refusal, requestId), CONSOLE_CODES[code] as ContentfulStatusCode)
}

/** As a download, whatever is in it: a browser shall not show it as a page of this site. */
function writeFile(context: AskingContext, { name, pieces }: FileReply): Response {
  context.header('content-disposition', `attachment; filename="${name}"`)
  context.header('content-type', 'text/csv; charset=utf-8')
  return context.body(ReadableStream.from(pieces).pipeThrough(new TextEncoderStream()))
}

/** Forms are small; the largest holds a few hundred ids of models. */
const BODY_BYTES_MAX = 128 * 1024

type SmallBody =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'too-large' }
  /** No body came of its bytes, or not in time: whoever sent them is still there to be told. */
  | { readonly kind: 'broken'; readonly problem: Problem }
  /** The client closed the connection first. */
  | { readonly kind: 'gone' }

/** A body of the console, whole or not at all. */
function readSmallBody(exchange: Exchange): Promise<SmallBody> {
  const { request } = exchange
  const gathered = gatherBytes()
  requestBody(exchange)
  return new Promise((resolve) => {
    const settle = (outcome: SmallBody) => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).pause()
      exchange.body.fail = undefined
      resolve(outcome)
    }
    const onData = (chunk: Buffer) => {
      gathered.add(chunk)
      if (gathered.length > BODY_BYTES_MAX) settle({ kind: 'too-large' })
    }
    const onEnd = () => settle({ kind: 'read', bytes: gathered.whole() })
    const onClose = () => settle({ kind: 'gone' })
    request.on('data', onData).once('end', onEnd).once('close', onClose)
    exchange.body.fail = (problem) => settle({ kind: 'broken', problem })
    request.resume()
  })
}

/** What the routes answered, as this edge writes answers: with the request's id and the headers of the console. */
async function sendAnswer(exchange: Exchange, answer: Response): Promise<void> {
  const type = answer.headers.get('content-type') ?? 'application/json'
  const cookies = answer.headers.getSetCookie()
  const headers: Record<string, string | string[]> = { ...API_HEADERS, 'content-type': type, 'set-cookie': cookies }
  for (const name of ['content-disposition', 'retry-after', 'allow']) {
    const value = answer.headers.get(name)
    if (value !== null) headers[name] = value
  }
  if (type.startsWith('application/json')) {
    return sendJsonBytes(exchange, answer.status, Buffer.from(await answer.arrayBuffer()), headers)
  }
  await sendPieces(exchange, answer, headers)
}

/** A file that is made while it is sent, no faster than its reader takes it. */
async function sendPieces(exchange: Exchange, answer: Response, headers: Headers): Promise<void> {
  const { response } = exchange
  const client = watchClient(exchange)
  writeHead(exchange, answer.status, headers)
  const reader = answer.body?.getReader()
  try {
    for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader?.read()) {
      if (client.disconnected) break
      if (!response.write(read.value)) await whenDrained(exchange)
    }
  } finally {
    await reader?.cancel()
  }
  client.end()
  endAnswer(exchange, '')
}
