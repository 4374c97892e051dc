import { type ProviderError, statusOf } from './provider-error.ts'
import { refusedField } from './refused-field.ts'
import { withoutQuotes } from './without-quotes.ts'

/** What a refusal means for the turn. */
export type RefusalClass =
  /** The request is at fault, whoever is asked. */
  | 'rejected'
  | 'too-long'
  /** Its bytes are more than the provider takes in. */
  | 'too-large'
  /** This server does not take one field, or its model cannot do one thing: without it, or elsewhere, it may be fine. */
  | 'unsupported-field'
  | 'filtered'
  | 'not-found'
  /** Our credential or our bill with the provider: nothing that the client could mend. */
  | 'credential'
  | 'throttled'
  | 'failed'

/** What a refusal of a class looks like; what a row does not say may be anything. */
interface Sign {
  readonly means: RefusalClass
  readonly status?: readonly number[]
  /** Its code, or the family of it. */
  readonly word?: RegExp
  /** Anything that it says in its own words, its code included. */
  readonly says?: RegExp
  readonly refusesField?: true
}

const TOO_LONG =
  /context.?length|maximum context|too many tokens|(?:prompt|input) is too long|max_model_len|exceeds? the (?:model|context)|exceeds? context limit|context.?size|exceeds the maximum number of tokens|maximum prompt length|model token limit|tokens \+ `` must be|range of input length|prompt token count of \d+ exceeds|prompt_tokens_exceeded/i
const THROTTLED = /rate.?limit|too.?many.?requests|slow.?down|throttl|resource.?exhausted/i
/** In the words of an error: an account without money, over its own limits, in the wrong country, or with a wrong key. */
const OUR_ACCOUNT =
  /credit balance|api usage limits|(?:spend(?:ing)?|usage|budget|billing|monthly)[ _](?:limit|cap)s? (?:has been |have been |was |is )?(?:reached|exceeded)|insufficient.?(?:quota|balance|credits?|funds)|exceeded your current quota|(?:billing|payment)[^.]{0,30}(?:not active|not enabled|disabled|required)|enable billing|api.?key.{0,10}(?:not valid|invalid|expired|not found)|(?:invalid|incorrect).?api.?key|account is in good standing|user location is not supported/i
const OUR_ACCOUNT_WORD =
  /^(?:unauthenticated|unauthorized|forbidden|arrearage|access_denied|service_disabled|account_.*|consumer_.*|api_key_.*)$|permission_?(?:denied|error)|insufficient.?quota|billing|credit|payment|api.?key.?invalid|invalid.?api.?key|authentication/i
const FILTERED =
  /content.?filter|content_policy|moderation|responsibleai|invalid_prompt|(?:bio|cyber)_policy|prohibited_content/i
const NOT_FOUND_WORD = /not_?found/i
/** GitHub Copilot answers 400 where others answer 404: the model name is wrong, or the plan does not include the model. */
const NO_SUCH_MODEL = /^(?:model_not_supported|unsupported_api_for_model|model_not_available\w*)$/
const TOO_LARGE_WORD = /request_too_large|payload.?too.?large/i
const REJECTED_WORD =
  /invalid_request|invalid_argument|failed_precondition|out_of_range|bad.?request|^extra_forbidden$/i
const OVERLOADED = /overload|unavailable|capacity|server.?error|internal|timeout/i
/** The model cannot do what is asked. Another one that stands behind the same id may. */
const INCAPABLE =
  /(?:is|are) not (?:enabled|supported|available) (?:for|by|with|on|in) (?:this|the) model|not enabled for models\/|(?:model|models\/\S{1,100}|"") (?:does|do) not support/i
/** OpenRouter says with 404 that it has the model, and nobody there who serves it with what this request asks for. */
const NO_ENDPOINT_CAN = /no endpoints found that (?:support|can handle)/i
/** The model, the deployment or the address is not there. Whatever else is missing, this one request has asked for. */
const MODEL_MISSING =
  /(?:model|deployment)_?not_?found|(?:no such|unknown|invalid) (?:model|deployment)|\bnot_found_error model: |\b(?:model|deployment)s?\b(?:[^.]|\.(?=\S)){0,200}(?:not exist|not found|not be found)|no endpoints found for|(?:invalid|unknown)(?: request)? url|page not found|cannot post/i

/** Nothing of it is known. */
const UNKNOWN: Sign = { means: 'failed' }

/** The first that fits. A status says more than words; of words a code says more than a sentence, which may quote the client. */
const REFUSED: readonly Sign[] = [
  { means: 'filtered', status: [401, 402, 403], says: FILTERED },
  { means: 'credential', status: [401, 402, 403, 407] },
  { means: 'credential', status: [429], word: OUR_ACCOUNT_WORD },
  { means: 'throttled', status: [429] },
  // Asking again, or somebody else, may do: it took too long, was too early, met another one, or was given up.
  { means: 'failed', status: [408, 409, 425, 499] },
  // Groq says 413 for what is more than its limit of a minute.
  { means: 'throttled', word: THROTTLED },
  // Anthropic and Google refuse with 400 what is wrong with our account.
  { means: 'credential', says: OUR_ACCOUNT },
  { means: 'too-long', says: TOO_LONG },
  { means: 'unsupported-field', status: [404], says: NO_ENDPOINT_CAN },
  { means: 'not-found', status: [404, 405, 410] },
  { means: 'not-found', status: [400], word: NO_SUCH_MODEL },
  { means: 'unsupported-field', refusesField: true },
  { means: 'unsupported-field', status: [400, 422], says: INCAPABLE },
  { means: 'filtered', says: FILTERED },
  { means: 'credential', word: OUR_ACCOUNT_WORD },
  { means: 'too-large', status: [413] },
  { means: 'rejected', status: [400, 422] },
  UNKNOWN,
]

/** An error inside an answer has no status: its words are all there is, and a number where it names one. */
const REFUSED_INSIDE: readonly Sign[] = [
  { means: 'too-long', says: TOO_LONG },
  { means: 'unsupported-field', refusesField: true },
  { means: 'filtered', says: FILTERED },
  { means: 'throttled', word: THROTTLED },
  { means: 'credential', word: OUR_ACCOUNT_WORD },
  { means: 'credential', says: OUR_ACCOUNT },
  { means: 'not-found', word: NOT_FOUND_WORD },
  { means: 'too-large', word: TOO_LARGE_WORD },
  { means: 'failed', word: OVERLOADED },
  { means: 'throttled', status: [429] },
  { means: 'credential', status: [401, 402, 403] },
  { means: 'rejected', word: REJECTED_WORD },
  { means: 'rejected', status: [400, 422] },
  { means: 'throttled', says: THROTTLED },
  UNKNOWN,
]

/** What a refusal means. What it quotes of a request is never among its words. */
export const classifyRefusal = (error: ProviderError): RefusalClass =>
  isServerFault(error) ? 'failed' : (signOf(error)?.means ?? 'failed')

/**
 * Whether a status or the provider's own code says so. Else only a sentence did, which a client may have had a hand in: that
 * is good enough for its own turn, and nothing may be concluded from it about the lane, which serves everybody.
 */
export function isCertain(error: ProviderError): boolean {
  if (isServerFault(error)) return true
  const sign = signOf(error)
  if (sign === undefined || sign === UNKNOWN) return false
  return fits(sign, { ...error, message: '' })
}

/** Whether the provider's own code says that it is about us: a status alone may be about a text. */
export const namesOurAccount = ({ code = '', type = '' }: ProviderError): boolean =>
  [code, type].some((word) => OUR_ACCOUNT_WORD.test(word))

/** Whether what is not found is not there for anybody: a 404 alone may be about a file or an item that a client has named. */
export const missesModel = ({ status, code = '', type = '', message }: ProviderError): boolean =>
  (status !== undefined && status !== 404) ||
  [code, type].some((word) => MODEL_MISSING.test(`${word} ${withoutQuotes(message)}`))

/** 5xx is 5xx, whatever the page says that comes with it. */
const isServerFault = ({ status }: ProviderError): boolean => status !== undefined && status >= 500

const signOf = (error: ProviderError): Sign | undefined =>
  (error.status === undefined ? REFUSED_INSIDE : REFUSED).find((sign) => fits(sign, error))

function fits(sign: Sign, error: ProviderError): boolean {
  const { status, code = '', type = '', number, message } = error
  const standing = status ?? number ?? statusOf(code)
  return (
    (sign.status === undefined || (standing !== undefined && sign.status.includes(standing))) &&
    (sign.word === undefined || [code, type].some((word) => sign.word?.test(word))) &&
    (sign.says === undefined || sign.says.test(`${code} ${withoutQuotes(message)}`)) &&
    (sign.refusesField === undefined || refusedField(error) !== undefined)
  )
}
