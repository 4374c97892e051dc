import type { Upstream } from '../../catalog/catalog.ts'
import type { UpstreamFailed } from '../../upstream/upstream-answer.ts'
import type { ProviderError } from '../../wire/refusals/provider-error.ts'
import type { AskedWord } from './ask-for-a-word.ts'
import type { Finding } from './lane-findings.ts'

interface JudgedLane {
  readonly upstream: Upstream
  /** As the provider is asked for it. */
  readonly model: string
}

type Refused = Extract<AskedWord, { kind: 'refused' }>

/** What is right or wrong with a lane, by what came of asking it. */
export function judgeLane(lane: JudgedLane, asked: AskedWord): Finding {
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
