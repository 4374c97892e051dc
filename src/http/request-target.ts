import type { IncomingMessage } from 'node:http'

/** Proxies send the absolute form, which names a host as well. Who was meant stands in the Host header. */
export const withoutOrigin = (target: string): string =>
  target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')

/**
 * The path of a request target: origin-form, absolute-form or `*`. Queries are not read here. One slash too many behind the
 * base URL or at the end is forgiven, because clients join base URLs with and without one.
 */
export function pathOf(target: string): string {
  const asked = withoutOrigin(target)
  const end = asked.search(/[?#]/)
  const path = end < 0 ? asked : asked.slice(0, end)
  if (path === '') return '/'
  const joined = path.startsWith(JOINED_TWICE) ? BASE + path.slice(JOINED_TWICE.length) : path
  return joined.length > 1 && joined.endsWith('/') ? joined.slice(0, -1) : joined
}

const BASE = '/v1/'
const JOINED_TWICE = '/v1//'

/** What stands behind the path; the first of a name that comes twice, and undefined for one that does not come. */
export function readQuery({ url: target = '' }: IncomingMessage): (name: string) => string | undefined {
  const start = target.indexOf('?')
  const parameters = new URLSearchParams(start < 0 ? '' : target.slice(start + 1))
  return (name) => parameters.get(name) ?? undefined
}
