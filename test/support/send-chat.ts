import type { TestServer } from './start-server.ts'

/** Where it listens is all that asking needs to know of a server. */
export type Address = Pick<TestServer, 'baseUrl'>

/** A whole answer: its head and what its JSON says. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly requestId: string
  // biome-ignore lint/suspicious/noExplicitAny: an answer of the API is judged by what the test expects of it
  readonly json: any
}

type Who = { readonly key: string }

export const hello = (words = 'Hello'): readonly object[] => [{ role: 'user', content: words }]

export async function get(server: Address, who: Who, path: string): Promise<Answer> {
  return answerOf(await fetch(`${server.baseUrl}${path}`, { headers: { authorization: `Bearer ${who.key}` } }))
}

export interface SendOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** Of the endpoint, behind the base URL; Chat Completions unless there is one. */
  readonly path?: string
}

/** The answer as it comes, for those who read it as it comes. */
export const send = (server: Address, who: Who, body: object | string | Buffer, options: SendOptions = {}) =>
  fetch(`${server.baseUrl}${options.path ?? '/chat/completions'}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${who.key}`, 'content-type': 'application/json', ...options.headers },
    body: typeof body === 'string' ? body : body instanceof Buffer ? new Uint8Array(body) : JSON.stringify(body),
    ...(options.signal ? { signal: options.signal } : {}),
  })

/** A chat request whose answer is awaited whole; `swift` and a greeting unless the test says otherwise. */
export const chat = async (server: Address, who: Who, body: object = {}, options: SendOptions = {}) =>
  answerOf(await send(server, who, { model: 'swift', messages: hello(), ...body }, options))

export async function answerOf(response: Response): Promise<Answer> {
  return {
    status: response.status,
    headers: response.headers,
    requestId: response.headers.get('x-request-id') ?? '',
    json: await response.json(),
  }
}
