/** Where somebody wanted to go before they had to sign in. */
export interface Landing {
  readonly next?: string
}

const BASE = '/console'

/** Only a path of this console: a link that somebody was sent must not lead elsewhere behind the sign-in. */
export function landingOf(search: Readonly<Record<string, unknown>>): Landing {
  const { next } = search
  if (typeof next !== 'string' || !/^\/(?![/\\])/.test(next)) return {}
  const path = next.startsWith(`${BASE}/`) ? next.slice(BASE.length) : next
  return path === '/' || path.startsWith('/sign-in') || /^\/[/\\]/.test(path) ? {} : { next: path }
}

export const addressOf = (path: string): string => `${BASE}${path}`

/** Of the sign-in, for somebody who goes on from there to where they were. */
export function signInAddress(next?: string): string {
  const search = new URLSearchParams({ ...landingOf({ next }) })
  return addressOf(search.size === 0 ? '/sign-in' : `/sign-in?${search}`)
}
