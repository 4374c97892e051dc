import type { ProviderError } from './read-provider-error.ts'

/**
 * It complains about sealed reasoning that it was given back: it cannot open it any more, or not in this place. Without it
 * the same request may be fine.
 */
export const refusesSeals = ({ status, code = '', param = '', message }: ProviderError): boolean =>
  (status === undefined || status === 400 || status === 422) && SEALS_REFUSED.test(`${code} ${param} ${message}`)

/** OpenAI's words, Google's, and Anthropic's: for a seal that it cannot read, a thought that is missing, one that was changed. */
const SEALS_REFUSED =
  /encrypted.?content|thought.?signature|signature.{0,60}(?:thinking|reasoning)|(?:thinking|reasoning).{0,60}(?:signature|without its required)|must start with a thinking block|redacted_thinking/i

/**
 * It does not know what asks it to make a conversation short. A word about something else in the request says nothing about
 * the server, only about that request.
 */
export const refusesTrigger = ({ code = '', param, message }: ProviderError): boolean =>
  /compaction/i.test(`${code} ${message}`) && (param === undefined || /^(input(\[\d+\])?(\.type)?)?$/.test(param))
