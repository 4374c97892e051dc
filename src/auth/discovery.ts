import type { ServerMetadata } from 'openid-client'
import { pause } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'

/** Requests to an issuer: discovery, tokens, keys, user info. */
export const TIMEOUT_SECONDS = 10
/** More than any document of an issuer has; a person may be in thousands of groups. */
const ANSWER_BYTES_MAX = 2 * 1024 * 1024
const DISCOVERED_FOR_MS = 3_600_000
/** While the issuer does not answer, what was discovered before is used for this long. */
const STALE_FOR_MS = 24 * 3_600_000
/** A failed request is not repeated for this long, so that a page of sign-ins does not become a flood. */
export const FAILED_FOR_MS = 5_000
const RETRY_AFTER_MS = 300

interface Discovered {
  readonly metadata: ServerMetadata
  readonly at: number
}

/** An issuer of OpenID Connect and who asks it. */
export interface IssuerAddress {
  readonly issuer: string
  readonly clientId: string
}

/** Reads the discovery document of an issuer, and keeps it for an hour. The package is loaded with the first use. */
export function createDiscovery(address: IssuerAddress, { nowMicros }: Pick<Clock, 'nowMicros'>) {
  let discovered: Discovered | undefined
  let failed: { readonly error: unknown; readonly at: number } | undefined
  let running: Promise<ServerMetadata> | undefined
  const nowMs = () => nowMicros() / 1000

  return async (): Promise<ServerMetadata> => {
    const now = nowMs()
    if (discovered !== undefined && now - discovered.at < DISCOVERED_FOR_MS) return discovered.metadata
    const isStaleGood = discovered !== undefined && now - discovered.at < STALE_FOR_MS
    if (failed !== undefined && now - failed.at < FAILED_FOR_MS) {
      if (isStaleGood && discovered !== undefined) return discovered.metadata
      throw failed.error
    }
    running ??= fetchMetadata(address).finally(() => {
      running = undefined
    })
    try {
      const metadata = await running
      discovered = { metadata, at: nowMs() }
      failed = undefined
      return metadata
    } catch (error) {
      failed = { error, at: nowMs() }
      if (isStaleGood && discovered !== undefined) return discovered.metadata
      throw error
    }
  }
}

async function fetchMetadata({ issuer, clientId }: IssuerAddress): Promise<ServerMetadata> {
  const oidc = await import('openid-client')
  const once = async () => {
    const options = {
      execute: isPlain({ issuer }) ? [oidc.allowInsecureRequests] : [],
      timeout: TIMEOUT_SECONDS,
      [oidc.customFetch]: boundedFetch,
    }
    const found = await oidc.discovery(new URL(issuer), clientId, undefined, oidc.None(), options)
    return found.serverMetadata()
  }
  try {
    return await once()
  } catch {
    await pause(RETRY_AFTER_MS)
    return once()
  }
}

/** Only an issuer on this machine may be: the configuration refuses others. */
export const isPlain = ({ issuer }: Pick<IssuerAddress, 'issuer'>): boolean => issuer.startsWith('http:')

/** Reads at most so many bytes, and follows no redirect. */
export async function boundedFetch(url: string, options: object): Promise<Response> {
  const response = await fetch(url, { ...options, redirect: 'manual' })
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of response.body ?? []) {
    bytes += piece.length
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`The answer of ${new URL(url).host} is longer than 2 MiB.`)
    pieces.push(piece)
  }
  const { status, statusText, headers } = response
  const hasBody = status !== 204 && status !== 304 && status >= 200
  return new Response(hasBody ? Buffer.concat(pieces) : null, { status, statusText, headers })
}
