import { isDeepStrictEqual } from 'node:util'
import type { Upstream } from '../catalog/catalog.ts'
import type { Secret } from '../lib/secret.ts'

/** Two readings of one upstream. Secrets have to be asked: comparing by structure sees no difference between them. */
export function sameUpstream(a: Upstream, b: Upstream): boolean {
  const { apiKey: keyA, headers: headersA, ...restA } = a
  const { apiKey: keyB, headers: headersB, ...restB } = b
  return isDeepStrictEqual(restA, restB) && sameSecret(keyA, keyB) && sameHeaders(headersA, headersB)
}

const sameSecret = (a: Secret | undefined, b: Secret | undefined): boolean =>
  a === undefined || b === undefined ? a === b : a.equals(b)

const sameHeaders = (a: Upstream['headers'], b: Upstream['headers']): boolean =>
  a.size === b.size && [...a].every(([name, value]) => sameSecret(value, b.get(name)))
