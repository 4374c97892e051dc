/** Where to go after the sign-in. */
interface Landing {
  readonly next?: string
}

const BASE = '/console'

/** Only paths of this console, because a link must not redirect to another site after the sign-in. */
export function landingOf(search: Readonly<Record<string, unknown>>): Landing {
  const { next } = search
  if (typeof next !== 'string' || !/^\/(?![/\\])/.test(next)) return {}
  const path = next.startsWith(`${BASE}/`) ? next.slice(BASE.length) : next
  return path === '/' || path.startsWith('/sign-in') || /^\/[/\\]/.test(path) ? {} : { next: path }
}

export const addressOf = (path: string): string => `${BASE}${path}`

export function signInAddress(next?: string): string {
  const search = new URLSearchParams({ ...landingOf({ next }) })
  return addressOf(search.size === 0 ? '/sign-in' : `/sign-in?${search}`)
}

let code: string | undefined

/**
 * Removes the setup code from the address before anything else reads it. The code grants access, so it must not stay in
 * the history, in a bookmark or on a shared screen.
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
