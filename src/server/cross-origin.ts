import { isApi } from './paths.ts'
import type { RequestContext } from './request-context.ts'

/**
 * CORS headers (Fetch standard, section 3.3, "CORS protocol"). Only origins in the configuration get them, and never with
 * credentials, because `/v1` reads no cookies.
 */
export function pushCrossOrigin(head: string[], { edge, request, path }: RequestContext): void {
  const { allowedOrigins } = edge.options
  if (!isApi(path)) return
  const { origin } = request.headers
  const isAllowed = origin !== undefined && allowedOrigins.includes(origin)
  const exposed = isAllowed ? head.filter((_, index) => index % 2 === 0).filter(needsExposing) : []
  // For caches: the answer differs by origin.
  head.push('vary', 'origin')
  if (isAllowed) head.push('access-control-allow-origin', origin, 'access-control-expose-headers', exposed.join(', '))
}

/** A page may read these headers without `access-control-expose-headers`. */
const READABLE = new Set(['content-type', 'content-length', 'cache-control', 'connection', 'vary'])
const needsExposing = (name: string): boolean => !READABLE.has(name) && !name.startsWith('access-control-')

/** Whether a request of the method `OPTIONS` is a "CORS-preflight request" of the Fetch standard. */
export function isPreflight({ request: { headers }, edge, path }: RequestContext): boolean {
  return (
    isApi(path) &&
    headers['access-control-request-method'] !== undefined &&
    headers.origin !== undefined &&
    edge.options.allowedOrigins.includes(headers.origin)
  )
}

/** Every path allows the request, so that the page can read the error of an unknown path. */
export function preflightHeaders({ request }: RequestContext): Readonly<Record<string, string>> {
  const requested = String(request.headers['access-control-request-headers'] ?? '')
    .slice(0, REQUESTED_CHARACTERS_MAX)
    .toLowerCase()
    .split(',', REQUESTED_NAMES_MAX)
    .map((name) => name.trim())
    .filter((name) => TOKEN.test(name))
  return {
    'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
    'access-control-allow-headers': [...new Set([...ALWAYS_ALLOWED, ...requested])].join(', '),
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  }
}

const ALWAYS_ALLOWED = ['authorization', 'content-type', 'idempotency-key', 'x-millrace-run', 'x-millrace-tags']
/** The SDKs send about fifteen headers of their own (`x-stainless-*`). */
const REQUESTED_NAMES_MAX = 64
const REQUESTED_CHARACTERS_MAX = 4096
const TOKEN = /^[\w!#$%&'*+.^`|~-]{1,100}$/
/** Chromium remembers no longer than this. */
const PREFLIGHT_SECONDS = 7200
