import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { isLoopbackName } from '../../lib/network.ts'

/** The names under which the console is served. */
export interface SiteOptions {
  /** How people reach this server from outside, e.g. `https://millrace.example`. */
  readonly publicUrl: string | undefined
  /** Further names of this server, without ports. */
  readonly hosts: readonly string[]
  /** Whether people may sign in over plain HTTP from other machines, with unencrypted passwords. */
  readonly allowHttp: boolean
}

/** The site as the browser sees it. */
export interface Site {
  readonly origin: string
  /** Over TLS, which ends at a proxy in front of this server. */
  readonly isSecure: boolean
  /** Whether passwords may be sent here. */
  readonly isPrivate: boolean
}

type SiteOutcome = { readonly kind: 'site'; readonly site: Site } | { readonly kind: 'foreign'; readonly host: string }

/** Finds the site by the Host header. A foreign name means DNS rebinding: another site's name resolves to this server. */
export function findSite(request: IncomingMessage, options: SiteOptions, isHttps: boolean): SiteOutcome {
  const host = (request.headers.host ?? '').toLowerCase()
  const outside = options.publicUrl === undefined ? undefined : new URL(options.publicUrl)
  if (outside !== undefined && host === outside.host)
    return known(outside.origin, options.allowHttp || isLoopbackName(outside.hostname))
  const name = nameOf(host)
  if (name === undefined) return { kind: 'foreign', host }
  if (isLoopbackName(name)) return known(`${isHttps ? 'https' : 'http'}://${host}`, true)
  if (isAddress(name) || options.hosts.includes(name)) {
    return known(`${isHttps ? 'https' : 'http'}://${host}`, options.allowHttp)
  }
  return { kind: 'foreign', host }
}

const known = (origin: string, mayBePlain: boolean): SiteOutcome => ({ kind: 'site', site: siteOf(origin, mayBePlain) })

function siteOf(origin: string, mayBePlain: boolean): Site {
  const isSecure = origin.startsWith('https:')
  return { origin, isSecure, isPrivate: isSecure || mayBePlain }
}

function nameOf(host: string): string | undefined {
  if (!URL.canParse(`http://${host}`)) return undefined
  const url = new URL(`http://${host}`)
  // The parsed host must equal the sent one: no user, no path, no other spelling of an address.
  return url.host === host || `${url.hostname}:80` === host ? url.hostname : undefined
}

const isAddress = (name: string): boolean => isIP(name.replace(/^\[|\]$/g, '')) !== 0
