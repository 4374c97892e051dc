import { type Context, Hono } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { CONSOLE_API, type RouteName } from '../../contract/console-api.ts'
import { CONVERSATION_CHARACTERS_MAX } from '../../contract/owner.ts'
import type { ParamsOf } from '../../contract/values.ts'
import { isUnavailable } from '../../db/sql-store.ts'
import { assertNever } from '../../lib/types.ts'
import { internalError } from '../../model/problem.ts'
import { readInput, receiveForm, sendPieces } from '../json-route.ts'
import type { RequestContext } from '../request-context.ts'
import { withoutOrigin } from '../request-context.ts'
import { sendJsonBytes, sendProblem } from '../respond.ts'
import { type FileReply, REFUSAL_STATUSES, type RouteRefusal, refuse } from '../route-replies.ts'
import type { EdgeConsole } from '../services.ts'
import { API_HEADERS } from '../site-files.ts'
import { consoleErrorOf, sendRefusal } from './errors.ts'
import type { AnyReply, ConsoleRequest, ConsoleServices, Handlers, RouteOf } from './handler.ts'
import { createHandlers } from './handlers.ts'
import { authorizeRequester, deviceCookie, findSignedIn, readConsoleRequest, sessionCookie } from './session.ts'
import type { Site } from './site.ts'

const BASE = '/console/api'
const CONVERSATIONS = `${BASE}/conversations`
/** JSON within JSON: a quote takes three bytes. */
const CONVERSATION_BYTES_MAX = 2 * CONVERSATION_CHARACTERS_MAX

/** Serves one request of the console's API: receives its body, and passes it to the Hono routes. */
export async function serveApi(context: RequestContext, { api, sessions }: EdgeConsole, site: Site): Promise<void> {
  const consoleRequest = readConsoleRequest(context, site)
  const writer = context.path.startsWith(CONVERSATIONS) ? await findSignedIn(context, sessions, site) : undefined
  const memory = writer && context.edge.conversationMemory.of(writer.session.person.row)
  const body = consoleRequest.changes
    ? await receiveForm(context, memory && { bytesMax: CONVERSATION_BYTES_MAX, memory })
    : undefined
  // The connection stays open until its answer ends, also after a disconnect.
  if (body?.kind === 'disconnected') return void context.response.destroy()
  if (body?.kind === 'broken') return sendProblem(context, body.problem)
  if (body?.kind === 'too-large') {
    return sendRefusal(context, refuse('body_too_large', 'No form of the console is as large as this.'))
  }
  const signedIn = await findSignedIn(context, sessions, site)
  await sendAnswer(context, await api.fetch(requestOf(context, site, body?.bytes), { ...consoleRequest, signedIn }))
}

/** The routes read only one header. */
function requestOf({ request }: RequestContext, site: Site, body: Buffer | undefined): Request {
  const type = request.headers['content-type']
  const hasBody = body !== undefined && body.length > 0
  return new Request(site.origin + withoutOrigin(request.url ?? '/'), {
    method: request.method ?? 'GET',
    headers: type === undefined ? {} : { 'content-type': type },
    ...(hasBody && { body: new Uint8Array(body) }),
  })
}

/** Input, requester and handler of a route belong together by its name, so the compiler checks that they fit. */
const ROUTES: { readonly [Name in RouteName]: RouteOf<Name> } = CONSOLE_API

type ApiContext = Context<{ Bindings: ConsoleRequest }>

/** Serves the routes of the contract: authorizes, reads the input, calls the handler, writes the reply. */
export function createConsoleApi(services: ConsoleServices): EdgeConsole['api'] {
  const api = new Hono<{ Bindings: ConsoleRequest }>()
  const handlers = createHandlers(services)
  for (const name of Object.keys(ROUTES) as RouteName[]) {
    const [method = '', path = ''] = name.split(' ')
    api.on(method, BASE + path, (c) => answer(c, name, handlers, services.clock.now()))
  }
  api.notFound((c) => writeRefusal(c, refuse('not_found', 'The console API has no such path.')))
  api.onError((error, c) => {
    if (isUnavailable(error)) {
      const message = 'The database cannot be reached at the moment. Nothing was changed, or it was changed whole.'
      return writeRefusal(c, refuse('database_unavailable', message, { retryAfterSeconds: 2 }))
    }
    c.env.log.error = error
    return writeRefusal(c, refuse('internal_error', internalError(c.env.requestId).message))
  })
  return api
}

async function answer<Name extends RouteName>(
  c: ApiContext,
  name: Name,
  handlers: Handlers,
  now: number,
): Promise<Response> {
  const route = ROUTES[name]
  const authorized = authorizeRequester(c.env, route, now)
  if (authorized.kind === 'refused') return writeRefusal(c, authorized)
  const sent = {
    ...{ params: c.req.param(), query: c.req.query() },
    ...{ type: c.req.header('content-type'), text: await c.req.text() },
  }
  const read = readInput(route, sent)
  if (read.kind === 'refused') return writeRefusal(c, read)
  const input = { ...read.input, params: read.input.params as ParamsOf<Name> }
  return writeReply(c, await handlers[name](authorized.request, input))
}

function writeReply(c: ApiContext, reply: AnyReply): Response {
  switch (reply.kind) {
    case 'done':
      return c.json(reply.value as object)
    case 'refused': {
      const { reason: code, ...rest } = reply
      return writeRefusal(c, { code, ...rest })
    }
    case 'session': {
      const { site } = c.env
      const { deviceTokens } = reply
      c.header('set-cookie', sessionCookie(reply.secret, site))
      if (deviceTokens !== undefined) c.header('set-cookie', deviceCookie(deviceTokens, site), { append: true })
      return c.json(reply.value as object)
    }
    case 'file':
      return writeFile(c, reply)
    default:
      return assertNever(reply)
  }
}

function writeRefusal(c: ApiContext, refusal: RouteRefusal): Response {
  const { code, retryAfterSeconds } = refusal
  const { requestId, log } = c.env
  log.code = code
  if (retryAfterSeconds !== undefined) c.header('retry-after', String(retryAfterSeconds))
  return c.json(consoleErrorOf(refusal, requestId), REFUSAL_STATUSES[code] as ContentfulStatusCode)
}

/** As a download, so that a browser does not show it as a page of this site. */
function writeFile(c: ApiContext, { name, pieces }: FileReply): Response {
  c.header('content-disposition', `attachment; filename="${name}"`)
  c.header('content-type', name.endsWith('.yaml') ? 'application/yaml' : 'text/csv; charset=utf-8')
  return c.body(ReadableStream.from(pieces).pipeThrough(new TextEncoderStream()))
}

/** Writes the answer of the routes, with the request's id and the headers of the console. */
async function sendAnswer(context: RequestContext, answer: Response): Promise<void> {
  const type = answer.headers.get('content-type') ?? 'application/json'
  const cookies = answer.headers.getSetCookie()
  const headers: Record<string, string | string[]> = { ...API_HEADERS, 'content-type': type, 'set-cookie': cookies }
  for (const name of ['content-disposition', 'retry-after', 'allow']) {
    const value = answer.headers.get(name)
    if (value !== null) headers[name] = value
  }
  if (type.startsWith('application/json')) {
    return sendJsonBytes(context, answer.status, Buffer.from(await answer.arrayBuffer()), headers)
  }
  await sendPieces(context, answer.status, answer.body ?? [], headers)
}
