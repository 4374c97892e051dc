import type { AnswerOf, BodyOf, ParamsOf, QueryOf, RouteName } from '../../src/contract/console-api.ts'
import { ConsoleProblem } from './console-problem.ts'
import { type ActName, type Address, methodOf, type QuestionName, routeAddress } from './route-address.ts'

/** A part of a request that has to be given where the route has something there, and must not where it has not. */
type Part<Key extends string, Value> = keyof Value extends never
  ? { readonly [K in Key]?: undefined }
  : Record<never, never> extends Value
    ? { readonly [K in Key]?: Value }
    : { readonly [K in Key]: Value }

export type QuestionOptions<Name extends QuestionName> = Part<'params', ParamsOf<Name>> & Part<'query', QueryOf<Name>>
export type ActOptions<Name extends ActName> = Part<'params', ParamsOf<Name>> & Part<'body', BodyOf<Name>>

/** What the fetcher cannot do itself: it has no page to show. */
export interface Attendants {
  /** The session is over: somebody has to sign in again. */
  sessionEnded(): void
  /** Asks for the password; false when the person would rather not. */
  confirm(): Promise<boolean>
}

let attendants: Attendants = { sessionEnded: () => {}, confirm: () => Promise.resolve(false) }
let csrf: string | undefined

export function attend(by: Attendants): void {
  attendants = by
}

/** Asks a question of the console API. Throws a `ConsoleProblem` for everything but an answer. */
export async function ask<Name extends QuestionName>(
  name: Name,
  options: QuestionOptions<Name>,
  signal?: AbortSignal,
): Promise<AnswerOf<Name>> {
  return (await exchange(name, { ...options, signal })) as AnswerOf<Name>
}

/** Does something. Where that needs a fresh password, the person is asked for it and the act is done once more. */
export async function act<Name extends ActName>(name: Name, options: ActOptions<Name>): Promise<AnswerOf<Name>> {
  const attempt = async () => (await exchange(name, { ...options, token: await csrfToken(name) })) as AnswerOf<Name>
  try {
    return await attempt()
  } catch (error) {
    if (!(error instanceof ConsoleProblem) || error.code !== 'confirm_password') throw error
    if (!(await attendants.confirm())) throw new ConsoleProblem(0, { code: 'cancelled', message: error.message })
    return await attempt()
  }
}

/** A turn of the playground, as it streams: the body is the protocol's own, and which purse pays stands beside it. */
export interface PlayedTurn {
  readonly endpoint: 'chat/completions' | 'responses'
  readonly pays: 'wallet' | 'builder'
  readonly body: { readonly model: string; readonly [field: string]: unknown }
}

/** Asks a model. Resolves with the head of the stream; a refusal is a `ConsoleProblem` like any other. */
export async function play({ endpoint, pays, body }: PlayedTurn, signal: AbortSignal): Promise<Response> {
  const token = await csrfToken()
  const response = await fetch(`/console/api/playground/${endpoint}`, {
    method: 'POST',
    credentials: 'same-origin',
    headers: {
      'content-type': 'application/json',
      'x-millrace-pays': pays,
      ...(token !== undefined && { 'x-csrf-token': token }),
    },
    body: JSON.stringify(body),
    signal,
  }).catch(unreachableUnless(signal))
  if (response.ok) return response
  throw problemFrom(response, await response.json().catch(() => undefined))
}

interface Sent extends Address {
  readonly body?: unknown
  readonly token?: string | undefined
  readonly signal?: AbortSignal | undefined
}

async function exchange(name: RouteName, sent: Sent): Promise<unknown> {
  const answer = await fetchJson(name, sent)
  // Every answer that says how we stand brings the token for what comes next.
  if (isStanding(answer)) csrf = answer.csrf ?? undefined
  return answer
}

async function fetchJson(name: RouteName, { body, token, signal, ...address }: Sent): Promise<unknown> {
  const method = methodOf(name)
  const isAct = method !== 'GET'
  const response = await fetch(routeAddress(name, address), {
    method,
    credentials: 'same-origin',
    headers: {
      accept: 'application/json',
      ...(isAct && { 'content-type': 'application/json' }),
      ...(token !== undefined && { 'x-csrf-token': token }),
    },
    ...(isAct && { body: JSON.stringify(body ?? {}) }),
    signal: signal ?? null,
  }).catch(unreachableUnless(signal))
  const answer: unknown = await response.json().catch(() => undefined)
  if (response.ok && answer !== undefined) return answer
  throw problemFrom(response, answer)
}

/** Whoever has given up waiting is told of that, and not that the server is away. */
const unreachableUnless = (signal: AbortSignal | undefined) => (error: unknown) => {
  if (signal?.aborted) throw error
  throw new ConsoleProblem(0, { code: 'unreachable', message: 'The server could not be reached.' })
}

function problemFrom(response: Response, answer: unknown): ConsoleProblem {
  const fault = isRecord(answer) && isRecord(answer.error) ? answer.error : {}
  const text = (key: string) => (typeof fault[key] === 'string' ? fault[key] : undefined)
  const problem = new ConsoleProblem(response.status, {
    code: text('code') ?? 'unexpected',
    message: text('message') ?? `The server answered ${response.status}.`,
    param: text('param') ?? null,
    request_id: text('request_id') ?? response.headers.get('x-request-id') ?? '',
    retry_after: typeof fault.retry_after === 'number' ? fault.retry_after : null,
  })
  if (response.status === 401 && problem.code === 'session_ended') {
    csrf = undefined
    attendants.sessionEnded()
  }
  return problem
}

/** Whoever has no session yet has no token either, and needs none for these. */
const FOR_ANYONE: readonly (ActName | undefined)[] = ['POST /session', 'POST /invitation', 'POST /sign-up']

async function csrfToken(name?: ActName): Promise<string | undefined> {
  if (csrf === undefined && !FOR_ANYONE.includes(name)) await exchange('GET /session', {})
  return csrf
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const isStanding = (value: unknown): value is { csrf: string | null } =>
  isRecord(value) && 'csrf' in value && 'setup_needed' in value
