import type { AnswerOf, BodyOf, ParamsOf, QueryOf, RouteName } from '../../src/contract/console-api.ts'
import { ConsoleProblem, hasCode } from './console-problem.ts'
import {
  type Address,
  type DownloadName,
  type MutationName,
  methodOf,
  type QueryName,
  routeAddress,
} from './route-address.ts'

/** A part of a request that has to be given where the route has something there, and must not where it has not. */
type Part<Key extends string, Value> = keyof Value extends never
  ? { readonly [K in Key]?: undefined }
  : Record<never, never> extends Value
    ? { readonly [K in Key]?: Value }
    : { readonly [K in Key]: Value }

export type QueryInput<Name extends QueryName> = Part<'params', ParamsOf<Name>> & Part<'query', QueryOf<Name>>
export type MutationInput<Name extends MutationName> = Part<'params', ParamsOf<Name>> & Part<'body', BodyOf<Name>>

/** What the fetcher cannot do itself: it has no page to show. */
interface ClientHooks {
  /** Whoever this page is of is not signed in any more. */
  sessionEnded(): void
  /** Whether this page only waits to be left. */
  isOver(): boolean
  /** Here somebody has signed in or out, or has a new session: other tabs share it. */
  sessionChanged(): void
  /** Asks for the password; false when the person would rather not. */
  confirm(): Promise<boolean>
}

let hooks: ClientHooks = {
  sessionEnded: () => {},
  isOver: () => false,
  sessionChanged: () => {},
  confirm: () => Promise.resolve(false),
}
/** The id of the person that this page is of; undefined while it is nobody's. */
let signedInAs: string | undefined
let csrf: string | undefined
/** How often somebody has signed in or out, or was given a new session, by this page. */
let changes = 0
/** How long an act may be without an answer: for as long, it may hold its dialog and the page. */
const ACT_MS = 60_000

export function setClientHooks(by: ClientHooks): void {
  hooks = by
}

/** Asks a question of the console API. Throws a `ConsoleProblem` for everything but an answer. */
export async function fetchQuery<Name extends QueryName>(
  name: Name,
  options: QueryInput<Name>,
  signal?: AbortSignal,
): Promise<AnswerOf<Name>> {
  return (await exchange(name, { ...options, signal })) as AnswerOf<Name>
}

/** Asks for a file. The browser keeps what is large on its disk; nothing of it is read here. */
export async function fetchFile<Name extends DownloadName>(name: Name, query: QueryOf<Name>): Promise<File> {
  refuseWhenOver()
  const response = await fetch(routeAddress(name, { query }), { credentials: 'same-origin' }).catch(unreachableUnless())
  if (!response.ok) throw problemFrom(response, await response.json().catch(() => undefined))
  const [, fileName = 'millrace.csv'] =
    /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '') ?? []
  const blob = await response.blob().catch(unreachableUnless())
  return new File([blob], fileName, { type: blob.type })
}

/** Does something. Where that needs a fresh password, the person is asked for it and the act is done once more. */
export async function runMutation<Name extends MutationName>(
  name: Name,
  options: MutationInput<Name>,
): Promise<AnswerOf<Name>> {
  const attempt = () =>
    withToken(async (token) => (await exchange(name, { ...options, token })) as AnswerOf<Name>, name)
  const by = signedInAs
  try {
    return await attempt()
  } catch (error) {
    if (!hasCode(error, 'confirm_password')) throw error
    // Whoever gives their password does what they began themselves, and nothing that was left by somebody before them.
    const isConfirmed = signedInAs === by && (await hooks.confirm()) && signedInAs === by
    if (!isConfirmed) throw new ConsoleProblem(0, { code: 'cancelled', message: error.message })
    return await attempt()
  }
}

/** A turn of the playground, as it streams: the body is the protocol's own, and which purse pays stands beside it. */
export interface PlaygroundTurn {
  readonly endpoint: 'chat/completions' | 'responses'
  readonly pays: 'wallet' | 'builder'
  readonly body: { readonly model: string; readonly [field: string]: unknown }
}

/** Asks a model. Resolves with the head of the stream; a refusal is a `ConsoleProblem` like any other. */
export const startPlaygroundTurn = (turn: PlaygroundTurn, signal: AbortSignal): Promise<Response> =>
  withToken((token) => fetchTurn(turn, token, signal))

async function fetchTurn(
  { endpoint, pays, body }: PlaygroundTurn,
  token: string | undefined,
  signal: AbortSignal,
): Promise<Response> {
  refuseWhenOver()
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

/** The longest wait for an answer before the server counts as away. */
const PROBE_MS = 10_000

/** Whether the page can be reloaded. The browser's own error page would leave the user stuck. */
export const isServerReachable = (): Promise<boolean> =>
  fetch('/console/', { method: 'HEAD', signal: AbortSignal.timeout(PROBE_MS) }).then(
    ({ ok }) => ok,
    () => false,
  )

interface Sent extends Address {
  readonly body?: unknown
  readonly token?: string | undefined
  readonly signal?: AbortSignal | undefined
}

async function exchange(name: RouteName, sent: Sent): Promise<unknown> {
  refuseWhenOver()
  const changesBefore = changes
  const answer = await fetchJson(name, sent)
  // It was asked before somebody signed in or out here, and answered after it: it says nothing of now.
  if (name === 'GET /session' && changes !== changesBefore) return await exchange(name, sent)
  if (isSession(answer)) applySession(name, answer)
  return answer
}

/** A page that is over and only waits to be left has the cookie of whoever came next: it must not ask as them. */
function refuseWhenOver(): void {
  if (hooks.isOver()) throw new ConsoleProblem(401, { code: 'session_ended', message: 'This page is over.' })
}

/** Every answer that says how we stand brings the token for what comes next. */
function applySession(name: RouteName, { person, csrf: token }: Session): void {
  const isAsked = name === 'GET /session'
  // All tabs have one session: in another one, it may have ended or become somebody else's. Then this page is over, too.
  if (isAsked && signedInAs !== undefined && person?.id !== signedInAs) {
    throw sessionOver(new ConsoleProblem(401, { code: 'session_ended', message: 'Somebody else is signed in now.' }))
  }
  signedInAs = person?.id
  csrf = token ?? undefined
  if (isAsked) return
  changes += 1
  hooks.sessionChanged()
}

async function fetchJson(name: RouteName, { body, token, signal, ...address }: Sent): Promise<unknown> {
  const method = methodOf(name)
  const isAct = method !== 'GET'
  const until = signal ?? AbortSignal.timeout(ACT_MS)
  const response = await fetch(routeAddress(name, address), {
    method,
    credentials: 'same-origin',
    headers: {
      accept: 'application/json',
      ...(isAct && { 'content-type': 'application/json' }),
      ...(token !== undefined && { 'x-csrf-token': token }),
    },
    ...(isAct && { body: JSON.stringify(body ?? {}) }),
    signal: until,
  }).catch(unreachableUnless(until))
  const answer: unknown = await response.json().catch((error: unknown) => {
    if (until.aborted) unreachableUnless(until)(error)
  })
  if (response.ok && answer !== undefined) return answer
  throw problemFrom(response, answer)
}

/** Whoever has given up waiting, or has waited long enough, is told of that, and not that the server is away. */
const unreachableUnless = (signal?: AbortSignal) => (error: unknown) => {
  if (signal?.aborted !== true) {
    throw new ConsoleProblem(0, { code: 'unreachable', message: 'The server could not be reached.' })
  }
  if (signal.reason?.name !== 'TimeoutError') throw error
  throw new ConsoleProblem(0, { code: 'no_answer', message: 'Nobody answered in time.' })
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
  return response.status === 401 && problem.code === 'session_ended' ? sessionOver(problem) : problem
}

function sessionOver(problem: ConsoleProblem): ConsoleProblem {
  csrf = undefined
  hooks.sessionEnded()
  return problem
}

/** The token is that of a session, which may have been renewed in another tab. For the same person it is done once more. */
async function withToken<Answer>(
  attempt: (token: string | undefined) => Promise<Answer>,
  name?: MutationName,
): Promise<Answer> {
  try {
    return await attempt(await csrfToken(name))
  } catch (error) {
    if (!hasCode(error, 'other_site')) throw error
    await exchange('GET /session', {})
    return await attempt(csrf)
  }
}

/** Whoever has no session yet has no token either, and needs none for these. */
const FOR_ANYONE: readonly (MutationName | undefined)[] = ['POST /session', 'POST /invitation', 'POST /sign-up']

async function csrfToken(name?: MutationName): Promise<string | undefined> {
  if (csrf === undefined && !FOR_ANYONE.includes(name)) await exchange('GET /session', {})
  return csrf
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

type Session = Pick<AnswerOf<'GET /session'>, 'person' | 'csrf'>

const isSession = (value: unknown): value is Session => isRecord(value) && 'csrf' in value && 'setup_needed' in value
