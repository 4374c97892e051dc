import { type Context, Hono } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { z } from 'zod'
import { CONSOLE_API, type ParamsOf, type RouteName } from '../../contract/console-api.ts'
import { named } from '../../contract/values.ts'
import { isUnavailable } from '../../db/sql-store.ts'
import { gatherBytes } from '../../lib/bytes.ts'
import { assertNever } from '../../lib/types.ts'
import { internalError, type Problem } from '../../model/problem.ts'
import { requestBody } from '../body.ts'
import type { RequestContext } from '../request-context.ts'
import { withoutOrigin } from '../request-context.ts'
import { endAnswer, type Headers, sendJsonBytes, sendProblem, writeHead } from '../respond.ts'
import type { EdgeConsole } from '../services.ts'
import { API_HEADERS } from '../site-files.ts'
import { CONSOLE_CODES, type ConsoleRefusal, consoleErrorOf, refuse, sendRefusal } from './errors.ts'
import type { AnyReply, ConsoleRequest, ConsoleServices, FileReply, Handlers, Input, RouteOf } from './handler.ts'
import { createHandlers } from './handlers.ts'
import { authorizeRequester, deviceCookie, findSignedIn, readConsoleRequest, sessionCookie } from './session.ts'
import type { Site } from './site.ts'

/** Serves one request of the console's API: receives its body, and passes it to the Hono routes. */
export async function serveApi(context: RequestContext, { api, sessions }: EdgeConsole, site: Site): Promise<void> {
  const consoleRequest = readConsoleRequest(context, site)
  const body = consoleRequest.changes ? await readForm(context) : undefined
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

const BASE = '/console/api'

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
  const read = await readInput<Name>(c, route)
  if (read.kind === 'refused') return writeRefusal(c, read)
  return writeReply(c, await handlers[name](authorized.request, read.input))
}

type ReadInput<Name extends RouteName> = { readonly kind: 'read'; readonly input: Input<Name> } | ConsoleRefusal

/** Reads path, query and body by the schemas of the route. */
async function readInput<Name extends RouteName>(c: ApiContext, route: RouteOf<Name>): Promise<ReadInput<Name>> {
  const params = PARAMS.safeParse(c.req.param())
  if (!params.success) return NO_SUCH_ID
  const sent = await readBody(c)
  if (sent.kind === 'refused') return sent
  const query = route.query.safeParse(c.req.query())
  if (!query.success) return wrong(query.error, 'The query')
  const body = route.body.safeParse(sent.value)
  if (!body.success) return wrong(body.error, 'The body')
  return { kind: 'read', input: { params: params.data as ParamsOf<Name>, query: query.data, body: body.data } }
}

/** A text that cannot be an id names nothing. */
const PARAMS = z.record(z.string(), named)
const NO_SUCH_ID = refuse('not_found', 'There is nothing with this id.')

type Body = { readonly kind: 'read'; readonly value: unknown } | ConsoleRefusal

async function readBody({ req }: ApiContext): Promise<Body> {
  const text = await req.text()
  if (text === '') return { kind: 'read', value: {} }
  // A page of another origin can send text, but it cannot send this type without a CORS preflight.
  if (!/^application\/json\b/i.test(req.header('content-type') ?? '')) {
    return refuse('json_needed', 'Send the body as application/json.')
  }
  try {
    return { kind: 'read', value: JSON.parse(text) }
  } catch {
    return refuse('invalid_arguments', 'The body is not JSON.')
  }
}

/** Reports the first issue only: a person fixes one field at a time. */
function wrong({ issues: [issue] }: z.ZodError, where: string): ConsoleRefusal {
  const param = issue === undefined ? '' : issue.path.join('.')
  const message = `${param === '' ? where : param}: ${issue?.message ?? 'cannot be read'}`
  return refuse('invalid_arguments', message, param === '' ? {} : { param })
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

function writeRefusal(c: ApiContext, refusal: ConsoleRefusal): Response {
  const { code, retryAfterSeconds } = refusal
  const { requestId, log } = c.env
  log.code = code
  if (retryAfterSeconds !== undefined) c.header('retry-after', String(retryAfterSeconds))
  return c.json(consoleErrorOf(refusal, requestId), CONSOLE_CODES[code] as ContentfulStatusCode)
}

/** As a download, so that a browser does not show it as a page of this site. */
function writeFile(c: ApiContext, { name, pieces }: FileReply): Response {
  c.header('content-disposition', `attachment; filename="${name}"`)
  c.header('content-type', 'text/csv; charset=utf-8')
  return c.body(ReadableStream.from(pieces).pipeThrough(new TextEncoderStream()))
}

/** The largest form has a few hundred model ids. */
const BODY_BYTES_MAX = 128 * 1024

type FormBody =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'too-large' }
  /** The bytes could not be parsed, or did not arrive in time. The client is still connected. */
  | { readonly kind: 'broken'; readonly problem: Problem }
  | { readonly kind: 'disconnected' }

function readForm(context: RequestContext): Promise<FormBody> {
  const { request } = context
  const gathered = gatherBytes()
  if (context.expectation === 'continue') requestBody(context)
  return new Promise((resolve) => {
    const settle = (outcome: FormBody) => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).pause()
      context.failBody = undefined
      resolve(outcome)
    }
    const onData = (chunk: Buffer) => {
      gathered.add(chunk)
      if (gathered.length > BODY_BYTES_MAX) settle({ kind: 'too-large' })
    }
    const onEnd = () => settle({ kind: 'read', bytes: gathered.whole() })
    const onClose = () => settle({ kind: 'disconnected' })
    request.on('data', onData).once('end', onEnd).once('close', onClose)
    context.failBody = (problem) => settle({ kind: 'broken', problem })
    request.resume()
  })
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
  await sendPieces(context, answer, headers)
}

/** Sends a file while it is made, honouring backpressure. */
async function sendPieces(context: RequestContext, answer: Response, headers: Headers): Promise<void> {
  const { response } = context
  writeHead(context, answer.status, headers)
  const reader = answer.body?.getReader()
  try {
    for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader?.read()) {
      if (context.isClosed) break
      if (!response.write(read.value)) await context.whenDrained()
    }
  } finally {
    await reader?.cancel()
  }
  endAnswer(context, '')
}
