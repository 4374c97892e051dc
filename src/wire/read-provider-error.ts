import { hideSecrets } from '../lib/hide-secrets.ts'
import { isObject } from '../lib/is-object.ts'
import { tryParse } from './json/try-parse.ts'

/** What a provider said when it refused, as far as it can be made out. None of it goes to the client as it is. */
export interface ProviderError {
  readonly status: number | undefined
  readonly message: string
  readonly code: string | undefined
  /** The family of the code, as far as it is needed: where there is no status. */
  readonly type?: string
  readonly param: string | undefined
}

/** What a refusal means for the turn. */
export type RefusalClass =
  /** The request is at fault, whoever is asked. */
  | 'rejected'
  | 'too-long'
  /** This server does not take one field: without it, or under another name, it may. */
  | 'unsupported-field'
  | 'filtered'
  | 'not-found'
  /** Our credential or our bill with the provider: nothing that the client could mend. */
  | 'credential'
  | 'throttled'
  | 'failed'

const TEXT_MAX = 1000

/** A body may be any of the shapes that servers use, HTML, or nothing. */
export function readProviderError(status: number | undefined, body: Buffer): ProviderError {
  const text = body.toString('utf8')
  const parsed = tryParse(text)
  const fields = isObject(parsed) ? (isObject(parsed.error) ? parsed.error : parsed) : {}
  const message = [
    fields.message,
    isObject(parsed) ? parsed.error : undefined,
    fields.detail,
    isObject(parsed) ? undefined : plainText(text),
  ].find((candidate): candidate is string => typeof candidate === 'string' && candidate !== '')
  return {
    status,
    // Before the cut: half of a credential that is quoted back could not be told from other words.
    message: hideSecrets(message ?? '').slice(0, TEXT_MAX),
    code: wordOf(fields.code) ?? wordOf(fields.type),
    param: wordOf(fields.param),
  }
}

const plainText = (text: string): string => (text.trimStart().startsWith('<') ? '' : text.trim())
const wordOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined

const TOO_LONG =
  /context.?length|maximum context|too many tokens|prompt is too long|input is too long|max_model_len|exceeds? the (model|context)/i
const THROTTLED = /rate.?limit|too many requests|slow.?down|throttl|resource.?exhausted/i
const BILLING =
  /insufficient.?quota|billing|credit|payment|exceeded your current quota|api.?key.?invalid|invalid.?api.?key|authentication/i
const FILTERED = /content.?filter|content_policy|moderation|responsibleai|invalid_prompt|(?:bio|cyber)_policy/i
const OVERLOADED = /overload|unavailable|capacity|server.?error|internal|timeout/i

export function classifyRefusal({ status, code = '', type = '', message }: ProviderError): RefusalClass {
  const said = `${code} ${message}`
  if (status === 401 || status === 402 || status === 403) return FILTERED.test(said) ? 'filtered' : 'credential'
  if (status === 429) return BILLING.test(code) ? 'credential' : 'throttled'
  if (status !== undefined && (status >= 500 || status === 408)) return 'failed'
  if (TOO_LONG.test(said)) return 'too-long'
  if (status === 404) return 'not-found'
  if (code === 'unsupported_parameter' || code === 'unsupported_value' || namedField(message) !== undefined)
    return 'unsupported-field'
  if (FILTERED.test(said)) return 'filtered'
  if (status !== undefined) return BILLING.test(code) ? 'credential' : 'rejected'
  return classifyWithoutStatus({ code, type }, said)
}

/** An error inside a stream has no status: its words are all there is. */
function classifyWithoutStatus({ code, type }: { code: string; type: string }, said: string): RefusalClass {
  if (THROTTLED.test(said) || code === '429') return 'throttled'
  if (FILTERED.test(code)) return 'filtered'
  if (BILLING.test(said) || code === '401' || code === '402' || code === '403') return 'credential'
  if (OVERLOADED.test(said) || /^5\d\d$/.test(code)) return 'failed'
  return /invalid_request|^400$|^422$/.test(code) || /invalid_request/.test(type) ? 'rejected' : 'failed'
}

const FIELD_NAMED =
  /(?:unsupported|unrecognized|unknown|unexpected|extra)[^'"`:]*(?:parameter|argument|field|input|value)?s?[^'"`]{0,30}['"`]([a-z_]+(?:\.[a-z_]+)?)['"`]/i

/** A model that does not reason has nothing to seal, and its server says so without naming the field. */
const SEAL_REFUSED = /encrypted content is not supported/i

/**
 * It complains about sealed reasoning that it was given back: it cannot open it any more, or not in this place. Without it
 * the same request may be fine.
 */
export const refusesSeals = ({ status, code = '', param = '', message }: ProviderError): boolean =>
  (status === undefined || status === 400 || status === 422) && SEALS_REFUSED.test(`${code} ${param} ${message}`)

const SEALS_REFUSED =
  /encrypted.?content|thought.?signature|signature.{0,60}(?:thinking|reasoning)|(?:thinking|reasoning).{0,60}(?:signature|without its required)/i

/**
 * It does not know what asks it to make a conversation short. A word about something else in the request says nothing about
 * the server, only about that request.
 */
export const refusesTrigger = ({ code = '', param, message }: ProviderError): boolean =>
  /compaction/i.test(`${code} ${message}`) && (param === undefined || /^(input(\[\d+\])?(\.type)?)?$/.test(param))

/** The field that a server's own words complain about, such as "Unsupported parameter: 'max_tokens'". */
export const namedField = (message: string): string | undefined =>
  SEAL_REFUSED.test(message) ? 'include' : FIELD_NAMED.exec(message)?.[1]
