import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Site } from './site.ts'

/**
 * Whether a page of this very site has sent a request that changes something. Browsers say where a request comes from in
 * headers that no page can write; one that says nothing is none that the console runs in.
 */
export function isFromOwnPage({ origin, 'sec-fetch-site': fetchSite }: IncomingHttpHeaders, site: Site): boolean {
  if (fetchSite !== undefined && fetchSite !== 'same-origin') return false
  return origin === undefined ? fetchSite === 'same-origin' : origin === site.origin
}

/** Made of the session's secret, so that it needs no place to be kept and ends with it. */
export const csrfTokenOf = (sessionSecret: string): string =>
  createHmac('sha256', sessionSecret).update('millrace console csrf').digest('base64url')

export function isCsrfToken(sent: string | string[] | undefined, sessionSecret: string): boolean {
  if (typeof sent !== 'string') return false
  const [a, b] = [Buffer.from(sent), Buffer.from(csrfTokenOf(sessionSecret))]
  return a.length === b.length && timingSafeEqual(a, b)
}
