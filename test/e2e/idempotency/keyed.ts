import { expect } from 'vitest'
import type { TestServer } from '../../support/start-server.ts'

/** An answer as bytes: what is given again has to be the same ones. */
export interface KeyedAnswer {
  readonly status: number
  readonly headers: Headers
  readonly requestId: string
  readonly bytes: Buffer
  readonly text: string
}

export interface Received {
  readonly key: string
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
  /** Chat's where it is left out. */
  readonly path?: string
}

export const open = (
  server: TestServer,
  { key, idempotencyKey, signal, path = '/chat/completions' }: Received,
  body: object | string,
) =>
  fetch(`${server.baseUrl}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal ? { signal } : {}),
  })

/** The whole answer, without the comments that keep a silent stream alive. */
export async function sendTurn(
  server: TestServer,
  receivedRequest: Received,
  body: object | string,
): Promise<KeyedAnswer> {
  return wholeOf(await open(server, receivedRequest, body))
}

export function expectReplay(again: KeyedAnswer, first: KeyedAnswer): void {
  expect(again.status).toBe(first.status)
  expect(again.bytes.equals(first.bytes)).toBe(true)
  expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'))
  expect(again.headers.get('idempotency-replayed')).toBe('true')
  expect(again.headers.get('x-original-request-id')).toBe(first.requestId)
  expect(again.requestId).not.toBe(first.requestId)
  expect(first.headers.get('idempotency-replayed')).toBe(null)
}

export const errorOf = ({ text }: KeyedAnswer) => JSON.parse(text).error

export async function wholeOf(response: Response): Promise<KeyedAnswer> {
  const text = Buffer.from(await response.arrayBuffer())
    .toString('utf8')
    .replaceAll(': keep-alive\n\n', '')
  return {
    status: response.status,
    headers: response.headers,
    requestId: response.headers.get('x-request-id') ?? '',
    bytes: Buffer.from(text),
    text,
  }
}
