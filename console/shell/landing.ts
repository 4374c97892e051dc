import { CONSOLE_BASE } from '../lib/api-client.ts'

/** Where to go after the sign-in. */
interface Landing {
  readonly next?: string
  /** Why a provider of single sign-on has refused. */
  readonly problem?: string
}

/** Only paths of this console, because a link must not redirect to another site after the sign-in. */
export function landingOf(search: Readonly<Record<string, unknown>>): Landing {
  const { next, problem } = search
  const refused = typeof problem === 'string' && problem !== '' ? { problem } : {}
  if (typeof next !== 'string' || !/^\/(?![/\\])/.test(next)) return refused
  const path = next.startsWith(`${CONSOLE_BASE}/`) ? next.slice(CONSOLE_BASE.length) : next
  return path === '/' || path.startsWith('/sign-in') || path.startsWith('/second-step') || /^\/[/\\]/.test(path)
    ? refused
    : { next: path, ...refused }
}

export const addressOf = (path: string): string => `${CONSOLE_BASE}${path}`

export function signInAddress(next?: string, page: '/sign-in' | '/second-step' = '/sign-in'): string {
  const search = new URLSearchParams({ ...landingOf({ next }) })
  return addressOf(search.size === 0 ? page : `${page}?${search}`)
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
