import type { TestServer } from './start-server.ts'

export interface ScimAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: Record<string, unknown>
}

interface SentToScim {
  readonly key: string | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Calls `/scim/v2` as a directory does. */
export async function sendToScim(
  { port }: Pick<TestServer, 'port'>,
  request: string,
  { key, body, headers = {} }: SentToScim,
): Promise<ScimAnswer> {
  const [method = '', path = ''] = request.split(/ (.*)/)
  const response = await fetch(`http://127.0.0.1:${port}/scim/v2${path}`, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/scim+json' }),
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: text === '' ? {} : JSON.parse(text) }
}
