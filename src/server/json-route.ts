import { z } from 'zod'
import { named } from '../contract/values.ts'
import { type ByteBudget, gatherBytes } from '../lib/bytes.ts'
import { type Problem, retryableProblem } from '../model/problem.ts'
import { requestBody } from './body.ts'
import type { RequestContext } from './request-context.ts'
import { endAnswer, type Headers, writeHead } from './respond.ts'
import { type RouteRefusal, refuse } from './route-replies.ts'

/** How the console and the management API read the input of their routes, and send files. */

/** The schemas of a route's input. */
interface InputSchemas<Query, Body> {
  readonly query: z.ZodType<Query>
  readonly body: z.ZodType<Body>
}

/** The parts of a request. */
interface SentInput {
  readonly params: Readonly<Record<string, string>>
  readonly query: unknown
  /** The `Content-Type`. */
  readonly type: string | undefined
  readonly text: string
}

type ReadInput<Query, Body> =
  | {
      readonly kind: 'read'
      readonly input: { readonly params: Record<string, string>; readonly query: Query; readonly body: Body }
    }
  | RouteRefusal

/** Reads path, query and body by the schemas of a route. */
export function readInput<Query, Body>(
  route: InputSchemas<Query, Body>,
  { params: sentParams, query: sentQuery, type, text }: SentInput,
): ReadInput<Query, Body> {
  const params = PARAMS.safeParse(sentParams)
  if (!params.success) return NO_SUCH_ID
  const sent = parseBody(type, text)
  if (sent.kind === 'refused') return sent
  const query = route.query.safeParse(sentQuery)
  if (!query.success) return wrong(query.error, 'The query')
  const body = route.body.safeParse(sent.value)
  if (!body.success) return wrong(body.error, 'The body')
  return { kind: 'read', input: { params: params.data, query: query.data, body: body.data } }
}

/** A text that cannot be an id names nothing. */
const PARAMS = z.record(z.string(), named)
const NO_SUCH_ID = refuse('not_found', 'There is nothing with this id.')

type ParsedForm = { readonly kind: 'read'; readonly value: unknown } | RouteRefusal

function parseBody(type: string | undefined, text: string): ParsedForm {
  if (text === '') return { kind: 'read', value: {} }
  // A page of another origin can send text, but it cannot send this type without a CORS preflight.
  if (!/^application\/json\b/i.test(type ?? '')) return refuse('json_needed', 'Send the body as application/json.')
  try {
    return { kind: 'read', value: JSON.parse(text) }
  } catch {
    return refuse('invalid_arguments', 'The body is not JSON.')
  }
}

/** Reports the first issue only: a person fixes one field at a time. */
function wrong({ issues: [issue] }: z.ZodError, where: string): RouteRefusal {
  const param = issue === undefined ? '' : issue.path.join('.')
  const message = `${param === '' ? where : param}: ${issue?.message ?? 'cannot be read'}`
  return refuse('invalid_arguments', message, param === '' ? {} : { param })
}

/** The largest form has a few hundred model ids. */
const FORM_BYTES_MAX = 128 * 1024

type Form =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'too-large' }
  /** The bytes could not be parsed, did not arrive in time, or there was no memory for them. The client is still connected. */
  | { readonly kind: 'broken'; readonly problem: Problem }
  | { readonly kind: 'disconnected' }

const noMemory = (): Problem =>
  retryableProblem('server_is_overloaded', 'This server is overloaded: it has no memory left for this body.', {
    retryAfterSeconds: 2,
  })

interface FormBounds {
  readonly bytesMax?: number
  /** The bytes are taken from it as they arrive, until the request has ended. */
  readonly memory?: ByteBudget
}

export function receiveForm(
  context: RequestContext,
  { bytesMax = FORM_BYTES_MAX, memory }: FormBounds = {},
): Promise<Form> {
  const { request } = context
  const gathered = gatherBytes()
  let taken = 0
  if (memory !== undefined) context.onClose(() => memory.give(taken))
  if (context.expectation === 'continue') requestBody(context)
  return new Promise((resolve) => {
    const settle = (outcome: Form) => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).pause()
      context.failBody = undefined
      resolve(outcome)
    }
    const onData = (chunk: Buffer) => {
      if (gathered.length + chunk.length > bytesMax) return settle({ kind: 'too-large' })
      // Once its connection has closed, nothing would give it back.
      if (memory !== undefined && !context.isClosed) {
        if (!memory.take(chunk.length)) return settle({ kind: 'broken', problem: noMemory() })
        taken += chunk.length
      }
      gathered.add(chunk)
    }
    const onEnd = () => settle({ kind: 'read', bytes: gathered.whole() })
    const onClose = () => settle({ kind: 'disconnected' })
    request.on('data', onData).once('end', onEnd).once('close', onClose)
    context.failBody = (problem) => settle({ kind: 'broken', problem })
    request.resume()
  })
}

/** Sends a file while it is made, honouring backpressure. */
export async function sendPieces(
  context: RequestContext,
  status: number,
  pieces: AsyncIterable<string | Uint8Array> | Iterable<string>,
  headers: Headers,
): Promise<void> {
  const { response } = context
  writeHead(context, status, headers)
  for await (const piece of pieces) {
    if (context.isClosed) break
    if (!response.write(piece)) await context.whenDrained()
  }
  endAnswer(context, '')
}
