/**
 * The path of a request target: origin-form, absolute-form (which proxies send) or `*`. Queries are not read here, and
 * one trailing slash is forgiven, because clients join base URLs with and without one.
 */
export function parseTarget(target: string): string {
  const withoutOrigin = target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  const end = withoutOrigin.search(/[?#]/)
  const path = end < 0 ? withoutOrigin : withoutOrigin.slice(0, end)
  if (path === '') return '/'
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}
