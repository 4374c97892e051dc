import type { JSONWebKeySet, JWTPayload } from 'jose'
import type { Clock } from '../lib/clock.ts'
import { boundedFetch, createDiscovery, FAILED_FOR_MS, isPlain, TIMEOUT_SECONDS } from './discovery.ts'
import type { JobIssuer } from './job-rules.ts'

export type ReadJobToken =
  | { readonly kind: 'read'; readonly claims: Readonly<Record<string, unknown>>; readonly by: JobIssuer }
  /** `unreachable`: the keys of the issuer could not be read. `invalid`: the token is not one of a configured issuer. */
  | { readonly kind: 'failed'; readonly why: 'unreachable' | 'invalid'; readonly error: unknown }

/** No secret that two share, and no token without a signature. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']
/** The clocks of the issuer and of this server may differ by this much. */
const SKEW_SECONDS = 60
/** A longer token is refused unread; those of GitHub and GitLab take 2 KiB. */
const TOKEN_LENGTH_MAX = 16 * 1024
const KEYS_FOR_MS = 3_600_000
/** A token that names an unknown key makes the keys be read again, but not more often than this. */
const KEYS_AGAIN_MS = 10_000

/** Verifies tokens of the issuers. Their addresses are the operator's, so they may be private ones, as those of single sign-on. */
export function createJobTokens(issuers: () => readonly JobIssuer[], clock: Pick<Clock, 'now' | 'nowMicros'>) {
  let known: readonly JobIssuer[] = []
  let verifiers = new Map<string, Verify>()
  const findVerifier = (issuer: string): Verify | undefined => {
    const now = issuers()
    if (now !== known) {
      known = now
      verifiers = new Map(now.map((each) => [each.issuer, createVerifier(each, clock)]))
    }
    return verifiers.get(issuer)
  }

  return async (token: string): Promise<ReadJobToken> => {
    if (token.length > TOKEN_LENGTH_MAX) return invalid(new Error('The token is too long.'))
    const { decodeJwt } = await import('jose')
    try {
      const verify = findVerifier(String(decodeJwt(token).iss))
      return verify === undefined ? invalid(new Error('The issuer is not configured.')) : await verify(token)
    } catch (error) {
      return invalid(error)
    }
  }
}

const invalid = (error: unknown): ReadJobToken => ({ kind: 'failed', why: 'invalid', error })

type Verify = (token: string) => Promise<ReadJobToken>

/** The signature, the issuer, the audience and the time of a token. */
function createVerifier(by: JobIssuer, clock: Pick<Clock, 'now' | 'nowMicros'>): Verify {
  const keys = createKeys(by, clock)
  const verifyWith = async (token: string, set: JSONWebKeySet): Promise<JWTPayload> => {
    const { createLocalJWKSet, jwtVerify } = await import('jose')
    const { payload } = await jwtVerify(token, createLocalJWKSet(set), {
      ...{ issuer: by.issuer, audience: by.audience, algorithms: ALGORITHMS, requiredClaims: ['exp', 'iat'] },
      ...{ clockTolerance: SKEW_SECONDS, currentDate: new Date(clock.now()) },
    })
    return payload
  }
  return async (token) => {
    let set: JSONWebKeySet
    try {
      set = await keys.read()
    } catch (error) {
      return { kind: 'failed', why: 'unreachable', error }
    }
    try {
      return { kind: 'read', claims: await verifyWith(token, set), by }
    } catch (error) {
      if (!isUnknownKey(error) || !keys.mayReadAgain()) return invalid(error)
    }
    try {
      set = await keys.readAgain()
    } catch (error) {
      return { kind: 'failed', why: 'unreachable', error }
    }
    try {
      return { kind: 'read', claims: await verifyWith(token, set), by }
    } catch (error) {
      return invalid(error)
    }
  }
}

const isUnknownKey = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_JWKS_NO_MATCHING_KEY'

/** The keys with which an issuer signs. */
function createKeys(by: JobIssuer, { nowMicros }: Pick<Clock, 'nowMicros'>) {
  const discover = createDiscovery({ issuer: by.issuer, clientId: by.audience }, { nowMicros })
  const nowMs = () => nowMicros() / 1000
  let found: { readonly set: JSONWebKeySet; readonly at: number } | undefined
  let failed: { readonly error: unknown; readonly at: number } | undefined
  let running: Promise<JSONWebKeySet> | undefined

  const readAgain = async (): Promise<JSONWebKeySet> => {
    if (failed !== undefined && nowMs() - failed.at < FAILED_FOR_MS) throw failed.error
    running ??= fetchKeys(by, discover).finally(() => {
      running = undefined
    })
    try {
      const set = await running
      found = { set, at: nowMs() }
      failed = undefined
      return set
    } catch (error) {
      failed = { error, at: nowMs() }
      throw error
    }
  }
  return {
    readAgain,
    read: async () => (found !== undefined && nowMs() - found.at < KEYS_FOR_MS ? found.set : readAgain()),
    mayReadAgain: () => found !== undefined && nowMs() - found.at >= KEYS_AGAIN_MS,
  }
}

async function fetchKeys(by: JobIssuer, discover: ReturnType<typeof createDiscovery>): Promise<JSONWebKeySet> {
  const { jwks_uri: address } = await discover()
  if (address === undefined) throw new Error('The discovery document of the issuer names no keys.')
  const isAllowed = new URL(address).protocol === 'https:' || (isPlain(by) && isOfIssuer(address, by))
  if (!isAllowed) throw new Error('The keys of the issuer are not at an https address.')
  const response = await boundedFetch(address, {
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(TIMEOUT_SECONDS * 1000),
  })
  if (response.status !== 200) throw new Error(`The keys of the issuer were answered with status ${response.status}.`)
  const set = (await response.json()) as JSONWebKeySet
  const { createLocalJWKSet } = await import('jose')
  // Throws if it is not a set of keys.
  createLocalJWKSet(set)
  return set
}

/** An issuer on this machine has its keys there too. */
const isOfIssuer = (address: string, { issuer }: JobIssuer): boolean =>
  new URL(address).origin === new URL(issuer).origin
