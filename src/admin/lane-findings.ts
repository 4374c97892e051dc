import type { Upstream } from '../catalog/catalog.ts'
import type { ProviderError } from '../protocols/refusals/provider-error.ts'
import type { DeadlinePhase } from '../providers/deadlines.ts'
import type { UpstreamFailed } from '../providers/upstream-answer.ts'
import { OUTPUT_CAP, type ProbeResult } from './probe.ts'

/** The facts that a finding's text may use. */
export interface FindingFacts {
  readonly upstream: Upstream
  readonly model: string
  /** The requested URL, without any credential; undefined for the demo. */
  readonly url: string | undefined
  readonly status: number | undefined
  readonly expired: DeadlinePhase | undefined
  readonly retryAfterMs: number | undefined
  /** Our own message about a failed call. */
  readonly failure: string | undefined
  readonly contentType: string | undefined
}

type Text = string | ((facts: FindingFacts) => string)

interface FindingText {
  readonly ok: boolean
  /** The fault affects every lane of the upstream: the others are skipped. */
  readonly ofUpstream?: boolean
  readonly message: Text
  readonly cure?: Text
}

const pass = (message: Text): FindingText => ({ ok: true, message })
const laneFault = (message: Text, cure?: Text): FindingText => ({ ok: false, message, ...(cure && { cure }) })
const upstreamFault = (message: Text, cure: Text): FindingText => ({ ok: false, ofUpstream: true, message, cure })

const hostOf = ({ url }: FindingFacts): string => (url === undefined ? 'its host' : new URL(url).hostname)
const withoutStop = (sentence: string): string => sentence.replace(/\.$/, '')
const isPlainHttp = ({ url }: FindingFacts): boolean => url?.startsWith('http:') ?? false
/** Appends the HTTP status, if there is one. */
const withStatus =
  (message: string): Text =>
  ({ status }) =>
    status === undefined ? message : `${message} (${status})`

const PHASES: Readonly<
  Record<DeadlinePhase, readonly [message: string, key: string, of: (upstream: Upstream) => number]>
> = {
  connect: ['it did not accept a connection', 'connect', ({ timeouts }) => timeouts.connectTimeoutMs],
  'first-byte': [
    'it accepted the request and sent nothing',
    'first_byte',
    ({ timeouts }) => timeouts.firstByteTimeoutMs,
  ],
  idle: ['it stopped in the middle of its response', 'idle', ({ timeouts }) => timeouts.idleTimeoutMs],
  'no-progress': [
    'it sent keep-alive events without content',
    'no_progress',
    ({ timeouts }) => timeouts.noProgressTimeoutMs,
  ],
  total: ['its response had not ended', 'total', ({ timeouts }) => timeouts.totalTimeoutMs],
}

const timeout: Text = ({ upstream, expired = 'first-byte' }) => {
  const [message, key, of] = PHASES[expired]
  return `${message} within timeouts.${key} (${of(upstream)} ms)`
}

/** The results of a lane test, and what to do about each. `docs/operate/upstreams-test.md` has the same table. */
export const LANE_FINDINGS = {
  answered: pass('answered'),
  'answered-cut': pass(`answered, cut off at its limit of ${OUTPUT_CAP} tokens`),
  'no-lane': pass('no model runs on it, so there was nothing to test'),
  'not-asked': laneFault('skipped, because the fault affects the whole upstream'),

  'key-missing': upstreamFault(
    withStatus('it requires a key, and none is configured'),
    ({ upstream }) => `Set api_key of the upstream ${upstream.id}, preferably from an environment variable.`,
  ),
  'key-refused': upstreamFault(
    withStatus('it rejects the key'),
    (facts) => `The api_key is wrong, expired or revoked, or not for ${hostOf(facts)}. Create a new one there.`,
  ),
  'not-allowed': laneFault(
    withStatus('it accepts the key but does not permit this request'),
    ({ model }) => `Check the permissions of the key, its project and this machine's country, and access to ${model}.`,
  ),
  'out-of-credit': upstreamFault(
    withStatus('the key is valid, but its account has no credit left'),
    'Add credit or raise the spending limit at the provider.',
  ),
  throttled: laneFault(
    (facts) => `it is rate-limiting requests${facts.status === undefined ? '' : ` (${facts.status})`}; the key works`,
    ({ retryAfterMs }) =>
      `Retry ${retryAfterMs === undefined ? 'later' : `in ${Math.ceil(retryAfterMs / 1000)} s`}; if it persists, its limits are too low for your traffic.`,
  ),
  'address-wrong': upstreamFault(
    withStatus('there is no API at this address'),
    ({ upstream }) => `Check base_url, which must end with the version segment, and wire: ${upstream.wire}.`,
  ),
  'model-unknown': laneFault(
    ({ model, status }) =>
      `it does not know the model ${model}${status === undefined ? '' : ` (${status})`}; address and key are right`,
    'Write lanes[].model exactly as the provider lists it. A new or gated model may need its approval.',
  ),
  'field-refused': laneFault(
    withStatus('it rejects a field that every request needs'),
    ({ upstream }) => `Check dialect: ${upstream.dialect}, and the provider's message.`,
  ),
  rejected: laneFault(
    withStatus('it rejects a minimal request'),
    ({ upstream }) =>
      `See the provider's message. Often the server does not speak wire: ${upstream.wire}, or needs another dialect than ${upstream.dialect}.`,
  ),
  filtered: laneFault(
    withStatus('its content filter rejects a minimal request'),
    'Check the content filter of the account at the provider.',
  ),
  overloaded: laneFault(withStatus('it is overloaded'), 'Nothing needs to be fixed here. Retry later.'),
  'provider-failed': laneFault(
    withStatus('it failed with a server error'),
    'Retry; if it persists, check its status page, or its log if the server is yours.',
  ),

  'name-unknown': upstreamFault(
    (facts) => `the name ${hostOf(facts)} does not exist`,
    'Check the host in base_url for a typo, and whether this machine can resolve external names.',
  ),
  'name-unanswered': upstreamFault(
    (facts) => `the name ${hostOf(facts)} could not be resolved: the name server does not answer`,
    'Check the name server and the network of this machine.',
  ),
  'nobody-listens': upstreamFault(
    'nothing listens there: the connection is refused',
    'Start the server there, or check host and port in base_url.',
  ),
  unreachable: upstreamFault(
    'it is not reachable from this machine',
    'Check the network, the firewall and the address.',
  ),
  'no-connection': upstreamFault(
    timeout,
    'Check for a firewall that drops packets, a wrong port or a slow name server; otherwise raise timeouts.connect.',
  ),
  'address-refused': upstreamFault(
    ({ failure = 'its address is not allowed' }) => withoutStop(failure),
    'A server of your own needs allow_private: true. Addresses of metadata services are never allowed.',
  ),
  'hung-up': upstreamFault('it closed the connection before the request was sent', (facts) =>
    isPlainHttp(facts)
      ? 'It may require https.'
      : 'It may not speak TLS on this port, or a proxy in between rejects the connection.',
  ),
  'tls-untrusted': upstreamFault(
    'its certificate is signed by an authority that this machine does not trust',
    'Add the issuer to NODE_EXTRA_CA_CERTS. If there should be none, the connection is intercepted.',
  ),
  'tls-expired': upstreamFault(
    'its certificate has expired',
    'Its operator has to renew it. If it is new, check the clock of this machine.',
  ),
  'tls-too-early': upstreamFault('its certificate is not valid yet', 'Check the clock of this machine.'),
  'tls-other-name': upstreamFault(
    (facts) => `its certificate is for another name than ${hostOf(facts)}`,
    'Write the host in base_url as in the certificate.',
  ),
  'tls-not-spoken': upstreamFault(
    'it does not speak TLS there, or no version that is supported here',
    'For a server of your own with plain HTTP, use http:// and allow_private: true; otherwise check the port.',
  ),
  'tls-failed': upstreamFault(
    ({ failure = 'the TLS handshake failed' }) => withoutStop(failure),
    'Check its certificate, and proxies between it and this machine.',
  ),

  'too-slow': laneFault(
    timeout,
    ({ expired = 'first-byte' }) =>
      `A model that is being loaded needs longer: raise timeouts.${PHASES[expired][1]}, or find the cause of the delay.`,
  ),
  'broken-off': laneFault('it accepted the request and dropped the connection', (facts) =>
    isPlainHttp(facts)
      ? 'Check its log; it may require https.'
      : 'Retry; if it persists, check its log or a proxy in between.',
  ),
  redirected: upstreamFault(
    'it redirects to another address, and redirects are not followed with a key',
    'Write the target into base_url: often https instead of http, or a host with or without www.',
  ),
  'not-http': upstreamFault('the server there does not speak HTTP', (facts) =>
    isPlainHttp(facts) ? 'It may require https; otherwise check the port.' : 'Check the port in base_url.',
  ),
  compressed: upstreamFault(
    'it compresses its response although the request does not allow it',
    'Turn compression off there, or in the proxy in front of it.',
  ),
  'other-language': laneFault(
    ({ upstream, contentType }) =>
      `its response is not wire: ${upstream.wire}${contentType === undefined ? '' : `: ${contentType.slice(0, 80)}`}`,
    'Check wire and base_url. An HTML page comes from a proxy or a web console.',
  ),
  endless: laneFault(
    `it continues far beyond its limit of ${OUTPUT_CAP} tokens`,
    ({ upstream }) =>
      `It ignores the output limit under the name of dialect: ${upstream.dialect}. Millrace cuts responses at the limit.`,
  ),
} satisfies Record<string, FindingText>

export type Finding = keyof typeof LANE_FINDINGS

/** The texts of a finding. */
export function describeFinding(finding: Finding, facts: FindingFacts) {
  const { ok, ofUpstream = false, message, cure }: FindingText = LANE_FINDINGS[finding]
  const textOf = (text: Text): string => (typeof text === 'string' ? text : text(facts))
  return { ok, ofUpstream, message: textOf(message), cure: cure === undefined ? null : textOf(cure) }
}

interface JudgedLane {
  readonly upstream: Upstream
  /** The model name at the provider. */
  readonly model: string
}

type Refused = Extract<ProbeResult, { kind: 'refused' }>

/** The finding of a probe. */
export function judgeLane(lane: JudgedLane, probed: ProbeResult): Finding {
  switch (probed.kind) {
    case 'answered':
      return probed.finish === 'length' ? 'answered-cut' : 'answered'
    case 'failed':
      return findingOfFailure(probed.failure)
    case 'refused':
      return findingOfRefusal(lane, probed)
    case 'broken-off':
      return probed.expired === undefined ? 'broken-off' : 'too-slow'
    case 'endless':
      return 'endless'
    case 'foreign':
      return 'other-language'
  }
}

/** By the error code of Node, OpenSSL, the HTTP library or ourselves. The first match applies. */
const BY_CODE: readonly (readonly [code: RegExp, finding: Finding])[] = [
  [/^ADDRESS_REFUSED$/, 'address-refused'],
  [/^(?:ENOTFOUND|ENODATA)$/, 'name-unknown'],
  [/^EAI_/, 'name-unanswered'],
  [/^ECONNREFUSED$/, 'nobody-listens'],
  [/^(?:ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|EADDRNOTAVAIL)$/, 'unreachable'],
  [/^CERT_HAS_EXPIRED$/, 'tls-expired'],
  [/^CERT_NOT_YET_VALID$/, 'tls-too-early'],
  [/ALTNAME_INVALID|HOSTNAME_MISMATCH/, 'tls-other-name'],
  [/SELF_SIGNED|UNABLE_TO_|CERT_UNTRUSTED|CERT_CHAIN/, 'tls-untrusted'],
  [/WRONG_VERSION_NUMBER|PACKET_LENGTH|HTTP_REQUEST|EPROTO/, 'tls-not-spoken'],
  [/CERT|TLS|SSL/, 'tls-failed'],
  [/^HTTP_PARSER$/, 'not-http'],
  [/^ANSWER_COMPRESSED$/, 'compressed'],
]

function findingOfFailure({ reason, expired, code = '' }: UpstreamFailed): Finding {
  if (reason === 'timeout') return expired === 'connect' ? 'no-connection' : 'too-slow'
  if (reason === 'redirected') return 'redirected'
  const known = BY_CODE.find(([pattern]) => pattern.test(code))?.[1]
  return known ?? (reason === 'not-sent' ? 'hung-up' : 'broken-off')
}

function findingOfRefusal({ upstream, model }: JudgedLane, { means, error }: Refused): Finding {
  const { code = '', type = '', message, status } = error
  switch (means) {
    case 'credential':
      return findingOfCredential(upstream, error)
    case 'not-found': {
      // An API names the missing model; a proxy, or another server, returns a page or nothing.
      const isAboutModel = message.includes(model) || /model|deployment/i.test(`${code} ${message}`)
      return isAboutModel ? 'model-unknown' : 'address-wrong'
    }
    case 'throttled':
      return 'throttled'
    case 'failed': {
      const isOverloaded =
        status === 503 || status === 529 || /overload|unavailable|capacity/i.test(`${code} ${type} ${message}`)
      return isOverloaded ? 'overloaded' : 'provider-failed'
    }
    case 'filtered':
      return 'filtered'
    case 'unsupported-field':
      return MODEL_REFUSED.test(`${error.code} ${message}`) ? 'model-unknown' : 'field-refused'
    case 'rejected':
    case 'too-long':
    case 'too-large':
      return MODEL_REFUSED.test(`${error.code} ${message}`) ? 'model-unknown' : 'rejected'
  }
}

const BILL = /quota|billing|credit|balance|payment|spend|usage limits|arrearage|funds|exhausted/i
const KEY = /api.?key|authenticat|credential|unauthorized|token|subscription key/i

/** Providers report missing credit with 400, 402, 403 and 429, and a wrong key with 400 and 401. */
function findingOfCredential({ apiKey, headers }: Upstream, error: ProviderError): Finding {
  const text = `${error.code} ${error.type} ${error.message}`
  if (error.status === 402 || BILL.test(text)) return 'out-of-credit'
  if (error.status !== 401 && !KEY.test(text)) return 'not-allowed'
  return apiKey === undefined && headers.size === 0 ? 'key-missing' : 'key-refused'
}

/** Some providers report an unknown model with 400 instead of 404. */
const MODEL_REFUSED =
  /model_?not_?found|(?:invalid|unknown|no such|not a valid) model|\bmodel\b.{0,120}(?:not (?:exist|found|valid|available)|does not exist|is invalid|not supported for generateContent)/i
