import type { Configuration, ServerMetadata } from 'openid-client'
import type { Clock } from '../lib/clock.ts'
import type { Secret } from '../lib/secret.ts'
import { boundedFetch, createDiscovery, isPlain, TIMEOUT_SECONDS } from './discovery.ts'

/** A group and what its people are in an account, or on this server. */
export interface RoleRule {
  readonly group: string
  /** An id or an email; undefined for operators. */
  readonly account: string | undefined
  readonly role: 'owner' | 'admin' | 'member' | 'viewer' | 'operator'
}

/** A group of a directory that gives a role in an account. */
export interface ScimRule {
  readonly group: string
  readonly role: 'owner' | 'admin' | 'member' | 'viewer'
}

/** An OpenID Connect provider, as the operator has configured it. */
export interface OidcProvider {
  readonly name: string
  readonly label: string
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: Secret | undefined
  readonly scopes: readonly string[]
  readonly groupsClaim: string
  /** The first rule that fits counts. Empty: groups decide nothing. */
  readonly roles: readonly RoleRule[]
  readonly createsPeople: boolean
  readonly linksByEmail: boolean
  readonly trustsEmail: boolean
  readonly emailDomains: readonly string[]
  readonly disablesRemoved: boolean
  readonly secondFactor: 'by_claim' | 'always' | 'never'
  readonly strongAcr: readonly string[]
}

/** What a provider says about the person who has signed in there. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
  /** In lower case; undefined if the provider names none. */
  readonly email: string | undefined
  readonly isEmailVerified: boolean
  /** Undefined if the provider names none, which is not the same as an empty list. */
  readonly groups: readonly string[] | undefined
  /** Seconds since the epoch, when the person last signed in at the provider; undefined if it does not say. */
  readonly authTime: number | undefined
  /** The provider has asked for a second factor. */
  readonly isStrong: boolean
}

/** Secrets of one attempt, which the browser keeps sealed. */
export interface Attempt {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly redirectUri: string
}

/** `unreachable`: the provider does not answer, or not with a discovery document. `invalid`: what it answered is refused. */
export interface OidcFailure {
  readonly kind: 'failed'
  readonly why: 'unreachable' | 'invalid'
  /** For the log. */
  readonly error: unknown
}

export type OidcClient = ReturnType<typeof createOidcClient>

const SUBJECT_LENGTH_MAX = 255
const GROUPS_MAX = 5_000

/**
 * Talks to one provider. The operator has configured its address, so it may be a private one. The package is loaded with the first
 * sign-in.
 */
export function createOidcClient(provider: OidcProvider, clock: Pick<Clock, 'nowMicros'>) {
  const discover = createDiscovery(provider, clock)

  /** A new one for each attempt, so that the keys of the provider are read when they are used and a rotation is seen at once. */
  const configure = async (): Promise<Configuration | OidcFailure> => {
    try {
      return await configurationOf(provider, await discover())
    } catch (error) {
      return { kind: 'failed', why: 'unreachable', error }
    }
  }

  return {
    provider,
    /** Where the browser goes to sign in. `fresh`: the person has to sign in at the provider even if they are. */
    async begin(attempt: Attempt, fresh: boolean): Promise<{ readonly kind: 'url'; readonly url: URL } | OidcFailure> {
      const configuration = await configure()
      if ('kind' in configuration) return configuration
      const oidc = await import('openid-client')
      const { state, nonce, verifier, redirectUri } = attempt
      const parameters = {
        ...{ redirect_uri: redirectUri, scope: provider.scopes.join(' '), state, nonce },
        ...{ code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
        ...(fresh ? { prompt: 'login', max_age: '0' } : {}),
      }
      return { kind: 'url', url: oidc.buildAuthorizationUrl(configuration, parameters) }
    },
    /** Exchanges the code and checks the ID token: its signature, issuer, audience, time and nonce. */
    async finish(
      query: URLSearchParams,
      attempt: Attempt,
    ): Promise<{ readonly kind: 'identity'; readonly identity: Identity } | OidcFailure> {
      const configuration = await configure()
      if ('kind' in configuration) return configuration
      try {
        return { kind: 'identity', identity: await identityOf(provider, configuration, query, attempt) }
      } catch (error) {
        return { kind: 'failed', why: 'invalid', error }
      }
    },
  }
}

async function configurationOf(provider: OidcProvider, metadata: ServerMetadata): Promise<Configuration> {
  const oidc = await import('openid-client')
  const secret = provider.clientSecret?.reveal()
  // Basic is the default of the specification, but providers differ in how they decode special characters there.
  const usesPost = metadata.token_endpoint_auth_methods_supported?.includes('client_secret_post') === true
  const authentication =
    secret === undefined ? oidc.None() : usesPost ? oidc.ClientSecretPost(secret) : oidc.ClientSecretBasic(secret)
  const configuration = new oidc.Configuration({ ...metadata }, provider.clientId, undefined, authentication)
  configuration.timeout = TIMEOUT_SECONDS
  configuration[oidc.customFetch] = boundedFetch
  if (isPlain(provider)) oidc.allowInsecureRequests(configuration)
  // Without this the signature would not be checked, because the token comes from the provider itself.
  oidc.enableNonRepudiationChecks(configuration)
  return configuration
}

type Claims = Readonly<Record<string, unknown>>

async function identityOf(
  provider: OidcProvider,
  configuration: Configuration,
  query: URLSearchParams,
  { state, nonce, verifier, redirectUri }: Attempt,
): Promise<Identity> {
  const oidc = await import('openid-client')
  const tokens = await oidc.authorizationCodeGrant(configuration, new URL(`${redirectUri}?${query}`), {
    ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true },
  })
  const token = tokens.claims()
  if (token === undefined) throw new Error('The provider sent no ID token.')
  const { sub } = token
  if (sub === '' || sub.length > SUBJECT_LENGTH_MAX) throw new Error('The subject of the ID token cannot be stored.')
  const { groupsClaim } = provider
  // Some providers put emails and groups only there.
  const isComplete = token.email !== undefined && token[groupsClaim] !== undefined
  const hasMore = !isComplete && configuration.serverMetadata().userinfo_endpoint !== undefined
  const more: Claims = hasMore ? await oidc.fetchUserInfo(configuration, tokens.access_token, sub) : {}
  // A verification counts for the email beside it.
  const verified = token.email === undefined || token.email === more.email ? more.email_verified : undefined
  const known = { issuer: token.iss, subject: sub, isStrong: isStrong(provider, token) }
  return readClaims({ ...more, email_verified: verified, ...token }, { ...known, groupsClaim })
}

/** RFC 8176 calls a sign-in with several factors `mfa`. An `acr` means what its provider says it means. */
const isStrong = ({ secondFactor, strongAcr }: OidcProvider, { amr, acr }: Claims): boolean =>
  secondFactor === 'always' ||
  (secondFactor === 'by_claim' &&
    ((Array.isArray(amr) && amr.includes('mfa')) || (typeof acr === 'string' && strongAcr.includes(acr))))

/** Some providers send booleans as text, and one group as text. */
function readClaims(
  claims: Claims,
  { groupsClaim, ...known }: Pick<Identity, 'issuer' | 'subject' | 'isStrong'> & Pick<OidcProvider, 'groupsClaim'>,
): Identity {
  const { email, email_verified: verified, auth_time: authTime } = claims
  const sent = claims[groupsClaim]
  const list = typeof sent === 'string' ? [sent] : sent
  const groups = Array.isArray(list)
    ? list.filter((each): each is string => typeof each === 'string').slice(0, GROUPS_MAX)
    : undefined
  return {
    ...{ ...known, groups },
    email: typeof email === 'string' && /^[^\s@]{1,190}@[^\s@]{1,253}$/.test(email) ? email.toLowerCase() : undefined,
    isEmailVerified: verified === true || verified === 'true',
    authTime: typeof authTime === 'number' ? authTime : undefined,
  }
}
