import type { Upstream } from '../catalog/catalog.ts'
import type { ProviderError } from '../protocols/refusals/provider-error.ts'
import type { DeadlinePhase } from '../providers/deadlines.ts'
import type { UpstreamFailed } from '../providers/upstream-answer.ts'
import { OUTPUT_CAP, type ProbeResult } from './probe.ts'

/** What is known when a finding is put into words. */
export interface FindingFacts {
  readonly upstream: Upstream
  readonly model: string
  /** What was asked, without any credential; undefined for the demo. */
  readonly url: string | undefined
  readonly status: number | undefined
  readonly expired: DeadlinePhase | undefined
  readonly retryAfterMs: number | undefined
  /** What our own side says of a call that failed. */
  readonly failure: string | undefined
  readonly contentType: string | undefined
}

interface FindingWords {
  readonly ok: boolean
  /** It is wrong with whatever runs on this upstream: the others need not be asked. */
  readonly ofUpstream?: true
  readonly says: (facts: FindingFacts) => string
  readonly cure?: (facts: FindingFacts) => string
}

const status = ({ status: number }: FindingFacts): string => (number === undefined ? '' : ` (${number})`)
const hostOf = ({ url }: FindingFacts): string => (url === undefined ? 'its host' : new URL(url).hostname)
const withoutStop = (sentence: string): string => sentence.replace(/\.$/, '')
const isPlain = ({ url }: FindingFacts): boolean => url?.startsWith('http:') ?? false

const PHASES: Readonly<
  Record<DeadlinePhase, readonly [says: string, key: string, of: (upstream: Upstream) => number]>
> = {
  connect: ['there was no connection', 'connect', ({ timeouts }) => timeouts.connectMs],
  'first-byte': ['it took the request and said nothing', 'first_byte', ({ timeouts }) => timeouts.firstByteMs],
  idle: ['it stopped in the middle of its answer', 'idle', ({ timeouts }) => timeouts.idleMs],
  'no-progress': ['it sent signs of life and no words', 'no_progress', ({ timeouts }) => timeouts.noProgressMs],
  total: ['its answer had not ended', 'total', ({ timeouts }) => timeouts.totalMs],
}

function slowness({ upstream, expired = 'first-byte' }: FindingFacts): string {
  const [says, key, of] = PHASES[expired]
  return `${says} within timeouts.${key} (${of(upstream)} ms)`
}

/** What came of asking a lane, in words, and what to do about it. `docs/operate/upstreams-test.md` has the same table. */
export const LANE_FINDINGS = {
  answered: { ok: true, says: () => 'answered' },
  'answered-cut': { ok: true, says: () => `answered, cut by its cap of ${OUTPUT_CAP} tokens` },
  'no-lane': { ok: true, says: () => 'no model runs on it, so there was nothing to ask' },
  'not-asked': { ok: false, says: () => 'not asked: what is wrong is wrong with the whole upstream' },

  'key-missing': {
    ok: false,
    ofUpstream: true,
    says: (facts) => `it wants a key, and none is configured${status(facts)}`,
    cure: ({ upstream }) => `Give the upstream ${upstream.id} an api_key, best as a variable of the environment.`,
  },
  'key-refused': {
    ok: false,
    ofUpstream: true,
    says: (facts) => `it refuses the key${status(facts)}`,
    cure: (facts) =>
      `The api_key is wrong, expired or revoked, or is not one for ${hostOf(facts)}: make another one there.`,
  },
  'not-allowed': {
    ok: false,
    says: (facts) => `it knows the key and does not let it do this${status(facts)}`,
    cure: ({ model }) =>
      `Look at the rights of the key, of its project and of this machine's country, there and for ${model}.`,
  },
  'out-of-credit': {
    ok: false,
    ofUpstream: true,
    says: (facts) => `the key is right, and the account behind it has nothing left to spend${status(facts)}`,
    cure: () => 'Pay, or raise its limit, at the provider.',
  },
  throttled: {
    ok: false,
    says: (facts) => `it limits requests at the moment${status(facts)}; the key works`,
    cure: ({ retryAfterMs }) =>
      `Ask again ${retryAfterMs === undefined ? 'later' : `in ${Math.ceil(retryAfterMs / 1000)} s`}; if this stays, its limits are too low for you.`,
  },
  'address-wrong': {
    ok: false,
    ofUpstream: true,
    says: (facts) => `there is nothing at this address${status(facts)}`,
    cure: ({ upstream }) =>
      `Look at base_url, which goes up to and including the version segment, and at wire: ${upstream.wire}.`,
  },
  'model-unknown': {
    ok: false,
    says: ({ model, ...facts }) =>
      `it does not know the model ${model}${status({ model, ...facts })}; address and key are right`,
    cure: () =>
      'Write the name in lanes[].model exactly as the provider lists it; a new or gated one may need its leave.',
  },
  'field-refused': {
    ok: false,
    says: (facts) => `it does not take what every request of ours needs${status(facts)}`,
    cure: ({ upstream }) => `Look at dialect: ${upstream.dialect}, and at what its words say.`,
  },
  rejected: {
    ok: false,
    says: (facts) => `it refuses a request of two words${status(facts)}`,
    cure: ({ upstream }) =>
      `Its words say why. Often it speaks something else than wire: ${upstream.wire}, or another dialect than ${upstream.dialect}.`,
  },
  filtered: {
    ok: false,
    says: (facts) => `its content filter refuses a request of two words${status(facts)}`,
    cure: () => 'Look at the filter of the account there.',
  },
  overloaded: {
    ok: false,
    says: (facts) => `it is overloaded${status(facts)}`,
    cure: () => 'There is nothing to mend here: ask again later.',
  },
  'provider-failed': {
    ok: false,
    says: (facts) => `it failed${status(facts)}`,
    cure: () => 'Ask again; if this stays, look at its status page, or at its log where it is yours.',
  },

  'name-unknown': {
    ok: false,
    ofUpstream: true,
    says: (facts) => `nobody knows the name ${hostOf(facts)}`,
    cure: () => 'Look at the host in base_url for a slip, and whether this machine may look up names outside.',
  },
  'name-unanswered': {
    ok: false,
    ofUpstream: true,
    says: (facts) => `the name ${hostOf(facts)} could not be looked up: the name server does not answer`,
    cure: () => 'Look at the name server and the network of this machine.',
  },
  'nobody-listens': {
    ok: false,
    ofUpstream: true,
    says: () => 'nothing listens there: the connection is refused',
    cure: () => 'Start the server there, or look at host and port in base_url.',
  },
  unreachable: {
    ok: false,
    ofUpstream: true,
    says: () => 'there is no way to it from this machine',
    cure: () => 'Look at the network, the firewall and the address.',
  },
  'no-connection': {
    ok: false,
    ofUpstream: true,
    says: slowness,
    cure: () =>
      'A firewall that swallows packets, a wrong port or a slow name server does this; else raise timeouts.connect.',
  },
  'address-refused': {
    ok: false,
    ofUpstream: true,
    says: ({ failure = 'its address is not allowed' }) => withoutStop(failure),
    cure: () =>
      'A server of your own needs allow_private: true; addresses that hand out credentials are never connected to.',
  },
  'hung-up': {
    ok: false,
    ofUpstream: true,
    says: () => 'it hung up before anything could be asked',
    cure: (facts) =>
      isPlain(facts)
        ? 'Perhaps it wants https.'
        : 'Perhaps it does not speak TLS there, or a proxy on the way refuses it.',
  },
  'tls-untrusted': {
    ok: false,
    ofUpstream: true,
    says: () => 'its certificate is signed by nobody whom this machine trusts',
    cure: () =>
      'Name the certificate of its issuer in NODE_EXTRA_CA_CERTS; where there should be none, somebody is in between.',
  },
  'tls-expired': {
    ok: false,
    ofUpstream: true,
    says: () => 'its certificate has expired',
    cure: () => 'Whoever runs it has to renew it; if it is new, look at the clock of this machine.',
  },
  'tls-too-early': {
    ok: false,
    ofUpstream: true,
    says: () => 'its certificate is not valid yet',
    cure: () => 'Look at the clock of this machine.',
  },
  'tls-other-name': {
    ok: false,
    ofUpstream: true,
    says: (facts) => `its certificate is for another name than ${hostOf(facts)}`,
    cure: () => 'Write the host in base_url as the certificate has it.',
  },
  'tls-not-spoken': {
    ok: false,
    ofUpstream: true,
    says: () => 'it does not speak TLS there, or no version of it that is spoken here',
    cure: () =>
      'For a server of your own that speaks plain HTTP write http:// and allow_private: true, else another port.',
  },
  'tls-failed': {
    ok: false,
    ofUpstream: true,
    says: ({ failure }) => (failure === undefined ? 'the secure connection failed' : withoutStop(failure)),
    cure: () => 'Look at its certificate and at what is between it and this machine.',
  },

  'too-slow': {
    ok: false,
    says: slowness,
    cure: ({ expired = 'first-byte' }) =>
      `A model that is being loaded needs more: raise timeouts.${PHASES[expired][1]}, or look what holds it up.`,
  },
  'broken-off': {
    ok: false,
    says: () => 'it took the request and broke off',
    cure: (facts) =>
      isPlain(facts)
        ? 'Look at its log; perhaps it wants https.'
        : 'Ask again; if this stays, look at its log or at a proxy on the way.',
  },
  redirected: {
    ok: false,
    ofUpstream: true,
    says: () => 'it points to another address, where nobody follows with a key',
    cure: () =>
      'Write the address that it points to into base_url: often https instead of http, or a host with or without www.',
  },
  'not-http': {
    ok: false,
    ofUpstream: true,
    says: () => 'what answers there does not speak HTTP',
    cure: (facts) =>
      isPlain(facts) ? 'Perhaps it wants https; else look at the port.' : 'Look at the port in base_url.',
  },
  compressed: {
    ok: false,
    ofUpstream: true,
    says: () => 'it compresses its answers although it is asked not to',
    cure: () => 'Switch compression off there, or in the proxy in front of it.',
  },
  'other-language': {
    ok: false,
    says: ({ upstream, contentType }) =>
      `it answers, and not as wire: ${upstream.wire} does${contentType === undefined ? '' : `: ${contentType.slice(0, 80)}`}`,
    cure: () => 'Look at wire and base_url; a page is what a proxy or a console answers with.',
  },
  endless: {
    ok: false,
    says: () => `it goes on far beyond its cap of ${OUTPUT_CAP} tokens`,
    cure: ({ upstream }) =>
      `It does not heed the cap under the name that dialect: ${upstream.dialect} has for it, and what is past a cap is cut.`,
  },
} as const satisfies Record<string, FindingWords>

export type Finding = keyof typeof LANE_FINDINGS

export const wordsOf = (finding: Finding): FindingWords => LANE_FINDINGS[finding]

interface JudgedLane {
  readonly upstream: Upstream
  /** As the provider is asked for it. */
  readonly model: string
}

type Refused = Extract<ProbeResult, { kind: 'refused' }>

/** What is right or wrong with a lane, by what came of asking it. */
export function judgeLane(lane: JudgedLane, asked: ProbeResult): Finding {
  switch (asked.kind) {
    case 'answered':
      return asked.finish === 'length' ? 'answered-cut' : 'answered'
    case 'failed':
      return findingOfFailure(asked.failure)
    case 'refused':
      return findingOfRefusal(lane, asked)
    case 'broken-off':
      return asked.expired === undefined ? 'broken-off' : 'too-slow'
    case 'endless':
      return 'endless'
    case 'foreign':
      return 'other-language'
  }
}

/** By the code of the error beneath, which is Node's, OpenSSL's, the library's or ours. The first that fits. */
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

function findingOfRefusal(lane: JudgedLane, { means, error }: Refused): Finding {
  switch (means) {
    case 'credential':
      return findingOfCredential(lane.upstream, error)
    case 'not-found':
      return isAboutModel(lane.model, error) ? 'model-unknown' : 'address-wrong'
    case 'throttled':
      return 'throttled'
    case 'failed':
      return isOverloaded(error) ? 'overloaded' : 'provider-failed'
    case 'filtered':
      return 'filtered'
    case 'unsupported-field':
      return MODEL_REFUSED.test(`${error.code} ${error.message}`) ? 'model-unknown' : 'field-refused'
    case 'rejected':
    case 'too-long':
    case 'too-large':
      return MODEL_REFUSED.test(`${error.code} ${error.message}`) ? 'model-unknown' : 'rejected'
  }
}

const BILL = /quota|billing|credit|balance|payment|spend|usage limits|arrearage|funds|exhausted/i
const KEY = /api.?key|authenticat|credential|unauthorized|token|subscription key/i

/** A bill is said with 400, 402, 403 and 429; a wrong key with 400 and 401; all of them mean something else at times. */
function findingOfCredential({ apiKey, headers }: Upstream, error: ProviderError): Finding {
  const said = `${error.code} ${error.type} ${error.message}`
  if (error.status === 402 || BILL.test(said)) return 'out-of-credit'
  if (error.status !== 401 && !KEY.test(said)) return 'not-allowed'
  return apiKey === undefined && headers.size === 0 ? 'key-missing' : 'key-refused'
}

/** Some say 400 and not 404. */
const MODEL_REFUSED =
  /model_?not_?found|(?:invalid|unknown|no such|not a valid) model|\bmodel\b.{0,120}(?:not (?:exist|found|valid|available)|does not exist|is invalid|not supported for generateContent)/i

/** A server that knows the address says what it has not found; a proxy, or another server, has a page or nothing. */
const isAboutModel = (model: string, { code = '', message }: ProviderError): boolean =>
  message.includes(model) || /model|deployment/i.test(`${code} ${message}`)

const isOverloaded = ({ status, code = '', type = '', message }: ProviderError): boolean =>
  status === 503 || status === 529 || /overload|unavailable|capacity/i.test(`${code} ${type} ${message}`)
