import type { AnswerOf, BodyOf, QueryOf, RouteName } from '../../src/contract/console-api.ts'
import type { ParamsOf } from '../../src/contract/values.ts'
import { ConsoleProblem, hasCode } from './console-problem.ts'

export type QueryName = Extract<RouteName, `GET ${string}`>
export type DownloadName = Extract<RouteName, `GET ${string}.csv` | `GET ${string}.yaml`>
export type MutationName = Exclude<RouteName, QueryName>

/** The path of the console, behind the prefix under which a proxy serves this server, if there is one. */
export const CONSOLE_BASE = `${/^(.*?)\/console(?:\/|$)/.exec(globalThis.location?.pathname ?? '')?.[1] ?? ''}/console`
const BASE = `${CONSOLE_BASE}/api`

interface Address {
  readonly params?: Readonly<Record<string, string>> | undefined
  readonly query?: object | undefined
}

const methodOf = (name: RouteName): string => name.slice(0, name.indexOf(' '))

function routeAddress(name: RouteName, { params = {}, query = {} }: Address = {}): string {
  const path = name.slice(name.indexOf(' ') + 1)
  const filled = path.replace(/:(\w+)/g, (_, param: string) => {
    const value = params[param]
    if (value === undefined) throw new Error(`${name} needs ${param}`)
    return encodeURIComponent(value)
  })
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(key, String(value))
  }
  return `${BASE}${filled}${search.size > 0 ? `?${search}` : ''}`
}

/** Makes a part of the input required, optional or forbidden, according to the route. */
type Part<Key extends string, Value> = keyof Value extends never
  ? { readonly [K in Key]?: undefined }
  : Record<never, never> extends Value
    ? { readonly [K in Key]?: Value }
    : { readonly [K in Key]: Value }

export type QueryInput<Name extends QueryName> = Part<'params', ParamsOf<Name>> & Part<'query', QueryOf<Name>>
export type MutationInput<Name extends MutationName> = Part<'params', ParamsOf<Name>> & Part<'body', BodyOf<Name>>

/** What the API client needs from the page. */
interface ClientHooks {
  sessionEnded(): void
  /** The person has to give a second factor before anything else. */
  secondFactorNeeded(): void
  /** True while the page waits to navigate away after its session has ended. */
  isOver(): boolean
  /** Called after a sign-in, a sign-out or a session renewal in this tab. Other tabs share the session. */
  sessionChanged(): void
  /** Asks for the password. Resolves with false if the user cancels. */
  confirm(): Promise<boolean>
}

let hooks: ClientHooks = {
  sessionEnded: () => {},
  secondFactorNeeded: () => {},
  isOver: () => false,
  sessionChanged: () => {},
  confirm: () => Promise.resolve(false),
}
/** The id of the person this page belongs to, undefined before the first session response. */
let signedInAs: string | undefined
let csrf: string | undefined
/** Counts the session changes made by this page. */
let changes = 0
/** Timeout of a mutation. Its dialog cannot be closed until it ends. */
const ACT_MS = 60_000

export function setClientHooks(by: ClientHooks): void {
  hooks = by
}

/** Throws a `ConsoleProblem` for everything but a successful response. */
export async function fetchQuery<Name extends QueryName>(
  name: Name,
  options: QueryInput<Name>,
  signal?: AbortSignal,
): Promise<AnswerOf<Name>> {
  return (await exchange(name, { ...options, signal })) as AnswerOf<Name>
}

/** Downloads a file. */
export async function fetchFile<Name extends DownloadName>(
  name: Name,
  { query, params }: { readonly query: QueryOf<Name>; readonly params: Address['params'] },
): Promise<File> {
  refuseWhenOver()
  const address = routeAddress(name, { query, params })
  const response = await fetch(address, { credentials: 'same-origin' }).catch(unreachableUnless())
  if (!response.ok) throw problemFrom(response, await response.json().catch(() => undefined))
  const [, fileName = 'millrace.csv'] =
    /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '') ?? []
  const blob = await response.blob().catch(unreachableUnless())
  return new File([blob], fileName, { type: blob.type })
}

/** Runs a mutation. If the server wants the password again, asks for it and retries once. */
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
    // Retry only for the person who started the mutation, not for someone who signed in meanwhile.
    const isConfirmed = signedInAs === by && (await hooks.confirm()) && signedInAs === by
    if (!isConfirmed) throw new ConsoleProblem(0, { code: 'cancelled', message: error.message })
    return await attempt()
  }
}

/** A playground request: the body of the protocol, and which money pays for it. */
export interface PlaygroundTurn {
  readonly endpoint: 'chat/completions' | 'responses'
  readonly pays: 'wallet' | 'builder'
  readonly body: { readonly model: string; readonly [field: string]: unknown }
}

/** Resolves with the response headers of the stream. Throws a `ConsoleProblem` on a refusal. */
export const startPlaygroundTurn = (turn: PlaygroundTurn, signal: AbortSignal): Promise<Response> =>
  withToken((token) => fetchTurn(turn, token, signal))

async function fetchTurn(
  { endpoint, pays, body }: PlaygroundTurn,
  token: string | undefined,
  signal: AbortSignal,
): Promise<Response> {
  refuseWhenOver()
  const response = await fetch(`${BASE}/playground/${endpoint}`, {
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

/** The description of the API, which the server serves beside the console. */
export const OPENAPI_ADDRESS = `${CONSOLE_BASE.slice(0, -'/console'.length)}/openapi.json`

export async function fetchOpenApi(signal: AbortSignal): Promise<unknown> {
  const response = await fetch(OPENAPI_ADDRESS, { signal }).catch(unreachableUnless(signal))
  if (!response.ok) throw problemFrom(response, undefined)
  return response.json()
}

/** Timeout of the reachability probe. */
const PROBE_MS = 10_000

/** Tells whether a reload would succeed. The browser's own error page has no way back. */
export const isServerReachable = (): Promise<boolean> =>
  fetch(`${CONSOLE_BASE}/`, { method: 'HEAD', signal: AbortSignal.timeout(PROBE_MS) }).then(
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
  // The session changed while this request was running, so its answer is outdated.
  if (name === 'GET /session' && changes !== changesBefore) return await exchange(name, sent)
  if (isSession(answer)) applySession(name, answer)
  return answer
}

/** After the session has ended, the cookie may belong to the next person. The page must not send requests as them. */
function refuseWhenOver(): void {
  if (hooks.isOver())
    throw new ConsoleProblem(401, { code: 'session_ended', message: 'The session of this page has ended.' })
}

/** Stores the CSRF token that every session response carries. */
function applySession(name: RouteName, { person, csrf: token }: Session): void {
  const isQuery = name === 'GET /session'
  // Another tab may have signed out, or signed in someone else. Then this page is over.
  if (isQuery && signedInAs !== undefined && person?.id !== signedInAs) {
    throw sessionOver(new ConsoleProblem(401, { code: 'session_ended', message: 'Another person is signed in now.' }))
  }
  signedInAs = person?.id
  csrf = token ?? undefined
  if (isQuery) return
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

/** Distinguishes an abort, a timeout and an unreachable server. */
const unreachableUnless = (signal?: AbortSignal) => (error: unknown) => {
  if (signal?.aborted !== true) {
    throw new ConsoleProblem(0, { code: 'unreachable', message: 'The server could not be reached.' })
  }
  if (signal.reason?.name !== 'TimeoutError') throw error
  throw new ConsoleProblem(0, { code: 'no_answer', message: 'The server did not answer in time.' })
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
  if (problem.code === 'second_factor_needed') hooks.secondFactorNeeded()
  return response.status === 401 && problem.code === 'session_ended' ? sessionOver(problem) : problem
}

function sessionOver(problem: ConsoleProblem): ConsoleProblem {
  csrf = undefined
  hooks.sessionEnded()
  return problem
}

/** Another tab may have renewed the session and its token. For the same person, retries once with the new token. */
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

/** These work without a session and need no token. */
const FOR_ANYONE: readonly (MutationName | undefined)[] = [
  ...([
    'POST /session',
    'POST /session/challenge',
    'POST /session/passkey',
    'POST /invitation',
    'POST /sign-up',
  ] as const),
]

async function csrfToken(name?: MutationName): Promise<string | undefined> {
  if (csrf === undefined && !FOR_ANYONE.includes(name)) await exchange('GET /session', {})
  return csrf
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

type Session = Pick<AnswerOf<'GET /session'>, 'person' | 'csrf'>

const isSession = (value: unknown): value is Session => isRecord(value) && 'csrf' in value && 'setup_needed' in value
