import { expect, it } from 'vitest'
import type { KeyRow } from '../model/ids.ts'
import { createRequestDigests } from './idempotency.ts'

const digests = createRequestDigests(Buffer.alloc(32, 1))
const others = createRequestDigests(Buffer.alloc(32, 2))
const request = { key: 1 as KeyRow, method: 'POST', path: '/v1/chat/completions', idempotencyKey: 'once' }

it('a scope is another one for another API key, method, path, idempotency key or ring', () => {
  const scopes = [
    digests.scopeOf(request),
    digests.scopeOf({ ...request, key: 2 as KeyRow }),
    digests.scopeOf({ ...request, method: 'PUT' }),
    digests.scopeOf({ ...request, path: '/v1/responses' }),
    digests.scopeOf({ ...request, idempotencyKey: 'twice' }),
    others.scopeOf(request),
  ]
  expect(new Set(scopes).size).toBe(scopes.length)
  expect(digests.scopeOf({ ...request })).toBe(scopes[0])
})

it('a fingerprint tells every byte of a body apart, also of one that is digested in slices', async () => {
  const body = Buffer.alloc(5 * 1024 * 1024, 'a')
  const first = await digests.fingerprintOf(body)
  expect(await digests.fingerprintOf(Buffer.from(body))).toBe(first)
  expect(await others.fingerprintOf(body)).not.toBe(first)
  for (const at of [0, 2 * 1024 * 1024, body.length - 1]) {
    const changed = Buffer.from(body)
    changed[at] = 0x62
    expect(await digests.fingerprintOf(changed)).not.toBe(first)
  }
  expect(await digests.fingerprintOf(Buffer.alloc(0))).not.toBe(first)
})
