/**
 * The path of a request target: origin-form, absolute-form (which proxies send) or `*`. Queries are not read here. One
 * slash too many behind the base URL or at the end is forgiven, because clients join base URLs with and without one.
 */
export function parseTarget(target: string): string {
  const withoutOrigin = target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  const end = withoutOrigin.search(/[?#]/)
  const path = end < 0 ? withoutOrigin : withoutOrigin.slice(0, end)
  if (path === '') return '/'
  const joined = path.startsWith(JOINED_TWICE) ? BASE + path.slice(JOINED_TWICE.length) : path
  return joined.length > 1 && joined.endsWith('/') ? joined.slice(0, -1) : joined
}

const BASE = '/v1/'
const JOINED_TWICE = '/v1//'
