/** Where somebody wanted to go before they had to sign in. */
interface Landing {
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

let code: string | undefined

/**
 * Takes the set-up code out of the address before anything else looks at it: whoever has the code becomes that person, so it
 * must not stay in the history, in a bookmark or on a screen that is shared.
 */
export function takeSetupCode(): void {
  const address = new URL(location.href)
  const given = address.searchParams.get('code')
  if (given === null || !address.pathname.endsWith('/setup')) return
  code = given
  address.searchParams.delete('code')
  history.replaceState(history.state, '', address)
}

export const setupCode = (): string | undefined => code
