import type { Exchange } from './request-context.ts'

/**
 * What a browser needs to hand an answer to a page of another origin (Fetch standard, section 3.3, "CORS protocol"). Only
 * origins that the operator has listed get it, and never with credentials: cookies are not read on `/v1`.
 */
export function pushCrossOrigin(head: string[], { edge, request, path }: Exchange): void {
  const { allowedOrigins } = edge.options
  if (allowedOrigins.length === 0 || !isApi(path)) return
  const { origin } = request.headers
  const isAllowed = origin !== undefined && allowedOrigins.includes(origin)
  const exposed = isAllowed ? head.filter((_, index) => index % 2 === 0).filter(needsExposing) : []
  // For caches: the answer to one origin is not that to another.
  head.push('vary', 'origin')
  if (isAllowed) head.push('access-control-allow-origin', origin, 'access-control-expose-headers', exposed.join(', '))
}

export const isApi = (path: string): boolean => path === '/v1' || path.startsWith('/v1/')

/** A page may read these of every answer. */
const READABLE = new Set(['content-type', 'content-length', 'cache-control', 'connection', 'vary'])
const needsExposing = (name: string): boolean => !READABLE.has(name) && !name.startsWith('access-control-')

/** The headers of a browser's question whether a page may send a request (Fetch standard, "CORS-preflight request"). */
export function isPreflight({ request: { method, headers }, edge, path }: Exchange): boolean {
  return (
    method === 'OPTIONS' &&
    isApi(path) &&
    headers['access-control-request-method'] !== undefined &&
    headers.origin !== undefined &&
    edge.options.allowedOrigins.includes(headers.origin)
  )
}

/** Said yes to for every path, so that the page can read the error of a path that is not there. */
export function preflightHeaders({ request }: Exchange): Readonly<Record<string, string>> {
  const asked = String(request.headers['access-control-request-headers'] ?? '')
    .slice(0, ASKED_CHARACTERS_MAX)
    .toLowerCase()
    .split(',', ASKED_NAMES_MAX)
    .map((name) => name.trim())
    .filter((name) => TOKEN.test(name))
  return {
    'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
    'access-control-allow-headers': [...new Set([...ALWAYS_ALLOWED, ...asked])].join(', '),
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  }
}

const ALWAYS_ALLOWED = ['authorization', 'content-type', 'idempotency-key']
/** The SDKs send about fifteen headers of their own (`x-stainless-*`). */
const ASKED_NAMES_MAX = 64
const ASKED_CHARACTERS_MAX = 4096
const TOKEN = /^[\w!#$%&'*+.^`|~-]{1,100}$/
/** Chromium remembers no longer than this. */
const PREFLIGHT_SECONDS = 7200
