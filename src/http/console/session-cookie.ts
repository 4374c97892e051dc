import { parse, serialize } from 'hono/utils/cookie'
import { SESSION_MS } from '../../account/people/find-session.ts'
import { DEVICE_MS } from '../../account/people/known-devices.ts'
import type { Site } from './site.ts'

/**
 * `__Host-`: only this host can have set it, only over TLS. Over plain HTTP, which is for this machine alone, no browser
 * would take that name.
 */
const cookieName = ({ isSecure }: Site): string => (isSecure ? '__Host-millrace_session' : 'millrace_session')

export const readSessionCookie = (header: string | undefined, site: Site): string | undefined =>
  header === undefined ? undefined : parse(header, cookieName(site))[cookieName(site)]

const deviceCookieName = ({ isSecure }: Site): string => (isSecure ? '__Host-millrace_device' : 'millrace_device')

export const readDeviceCookie = (header: string | undefined, site: Site): string | undefined =>
  header === undefined ? undefined : parse(header, deviceCookieName(site))[deviceCookieName(site)]

/** It outlives the session, and opens nothing: wrong passwords from this browser count apart from those of strangers. */
export const deviceCookie = (tokens: string, site: Site): string =>
  serialize(deviceCookieName(site), tokens, {
    path: '/',
    httpOnly: true,
    secure: site.isSecure,
    sameSite: 'Strict',
    maxAge: DEVICE_MS / 1000,
  })

/** Not to be read by scripts, not to be sent along by other sites but for a plain link. */
export const sessionCookie = (secret: string, site: Site): string =>
  serialize(cookieName(site), secret, {
    path: '/',
    httpOnly: true,
    secure: site.isSecure,
    sameSite: 'Lax',
    // That it is over sooner is the server's knowledge.
    maxAge: SESSION_MS / 1000,
  })

export const endedCookie = (site: Site): string =>
  serialize(cookieName(site), '', {
    path: '/',
    httpOnly: true,
    secure: site.isSecure,
    sameSite: 'Lax',
    maxAge: 0,
  })
