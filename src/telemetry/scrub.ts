import { hideSecrets } from '../lib/secret.ts'
import { withoutControls } from '../lib/text.ts'

/** Longer text is shortened first, so that a whole body in an error message does not get into a log. */
const TEXT_LENGTH_MAX = 8192
const HIDDEN = '[hidden]'

/** Most text has no secret. This decides whether the patterns below are tried. */
const SUSPECT =
  /mra?[_-]|whsec|mra?%5f|-[0-9a-z]{4}-|[srp]k[-_]|key|token|secret|passw|bearer|basic|authorization|:\/\/|eyj|akia|aiza|gh[pousr]_|github_pat|hf_|xai-|r8_|private/i

/**
 * What secrets look like, and what remains of them. No pattern begins with `\b`: there is no word boundary between `x_` and a key,
 * and the writer of a text chooses what is before a key. So each also takes the letters of the other keys: a key whose beginning
 * it took would be shown without it.
 */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // Up to the last @ before the path: passwords with an @ of their own are common.
  [/([a-z][a-z0-9+.-]{0,31}:\/\/)[^\s/?#"'<>]+@/gi, `$1${HIDDEN}@`],
  [
    /(bearer|basic)(?:\s|%20)+(?!\[hidden\])(?:[\w.~+/=-]|%5f){6,}(?:(?<=bearer|basic)(?:\s|%20)+(?:[\w.~+/=-]|%5f)+)*/gi,
    `$1 ${HIDDEN}`,
  ],
  [
    /(mr(?:_|%5f)(?:wallet|builder|session)(?:_|%5f))(?:[\w-]|%5f)+|(mr(?:_|%5f))(?!(?:wallet|builder|session)(?:_|%5f))(?:[\w-]|%5f){8,}/gi,
    `$1$2${HIDDEN}`,
  ],
  [/(mra(?:_|%5f))(?:[\w-]|%5f){8,}/gi, `$1${HIDDEN}`],
  // Secrets of webhooks.
  [/(whsec_)[\w+/=-]{8,}/g, `$1${HIDDEN}`],
  // Redemption codes, and codes of sign-up links.
  [/(mr-)[0-9a-z]{5}(?:-[0-9a-z]{5}){2,4}[\w-]*/gi, `$1${HIDDEN}`],
  [/(?<![0-9a-z-])[0-9a-z]{4}(?:-[0-9a-z]{4}){5}(?:_[\w-]*|(?![0-9a-z-]))/gi, HIDDEN],
  // After a letter it may be task-list or risk-free, so there a key must be long and have a digit.
  [/(?<![a-z0-9])((?:sk|rk|pk)[-_](?:[a-z]{2,12}[-_])*)[\w-]{8,}/gi, `$1${HIDDEN}`],
  [/((?:sk|rk|pk)[-_])(?=[\w-]{0,64}\d)[\w-]{16,}/g, `$1${HIDDEN}`],
  [/(AKIA|AIza|xai-|gsk_|hf_|gh[pousr]_|github_pat_|r8_)[\w-]{10,}/g, `$1${HIDDEN}`],
  // `api_key=…`, `"x-api-key": "…"`, `password: …`: the value after a telling name.
  [
    /((?:api[-_ ]?key|access[-_]?key|secret|password|passwd|authorization|(?:access|refresh|id|auth)[-_]token|[?&](?:key|token|sig|signature|code))["']?\s*[:=]\s*["']?)(?!(?:bearer|basic)\b|\[hidden\])[^\s"'&,;{}[\]]+(?:\[hidden\])?/gi,
    `$1${HIDDEN}`,
  ],
]

const PRIVATE_KEYS = /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g

const TOKEN_BEGINS = 'eyJ'
const TOKEN_PART_MIN = 8
const TOKEN_LETTERS = /(?:[\w-]|%5f)*/iy

/**
 * Hides JSON Web Tokens: three parts of base64url, of which the last may be empty. No pattern, which would read on to the end of the
 * text from every `eyJ`: of those in one run of letters the first is the only one to look at.
 */
function hideTokens(text: string): string {
  const endOfLetters = (from: number): number => {
    TOKEN_LETTERS.lastIndex = from
    return from + (TOKEN_LETTERS.exec(text)?.[0].length ?? 0)
  }
  let hidden = ''
  let shown = 0
  for (let at = text.indexOf(TOKEN_BEGINS); at >= 0; ) {
    const head = endOfLetters(at)
    const claims = text[head] === '.' ? endOfLetters(head + 1) : head
    const isToken = head - at - TOKEN_BEGINS.length >= TOKEN_PART_MIN && claims - head - 1 >= TOKEN_PART_MIN
    if (isToken) {
      hidden += text.slice(shown, at) + HIDDEN
      shown = text[claims] === '.' ? endOfLetters(claims + 1) : claims
    }
    at = text.indexOf(TOKEN_BEGINS, isToken ? shown : head)
  }
  return hidden + text.slice(shown)
}

/** Removes keys, tokens and passwords: the secrets that this process knows, and texts that look like one. */
export function scrub(text: string): string {
  // Twice as much, so that a secret across that place is seen whole.
  const hidden = hideSecrets(text.slice(0, 2 * TEXT_LENGTH_MAX))
  const bounded = hidden.length > TEXT_LENGTH_MAX ? `${hidden.slice(0, TEXT_LENGTH_MAX)}…` : hidden
  if (!SUSPECT.test(bounded)) return bounded
  // Private keys first: a token before one would take the dashes of its first line. Then tokens: behind `pk-` a key, which has no dots,
  // would take the head of a token and leave the rest.
  const withoutTokens = hideTokens(bounded.replace(PRIVATE_KEYS, HIDDEN))
  return PATTERNS.reduce((scrubbed, [pattern, shown]) => scrubbed.replace(pattern, shown), withoutTokens)
}

/** Letters of both cases with a digit, as in nearly every key, or a long number in hex. Our own ids are in lower case. */
const RANDOM = /\b(?=\w*[a-z])(?=\w*[A-Z])(?=\w*\d)\w{20,}\b|[0-9a-f]{32,}/

/** What people and browsers put between the letters of a redemption code. */
const BETWEEN = /%20|%2d|%e2%80%9[0-5]|[-+.~]/gi
/** Of a code as it is read; an id has a `_`, and is none. Two steps: one pattern for both would look at some paths for seconds. */
const CODE = /^(?:mr)?[0-9a-z]{25}$/i
const CODE_MAX = 1000
/** No shorter part of a path is a key or a code. */
const LONG_PART = /[^/]{20}/
const looksLikeSecret = (part: string): boolean =>
  LONG_PART.test(part) && (RANDOM.test(part) || (part.length < CODE_MAX && CODE.test(part.replace(BETWEEN, ''))))

/** Also percent-encoded, once or more often. */
const EMAIL = /@|%(?:25)*40/
const EMAIL_HIDDEN = '[email]'
/** Models of some providers have an @ in their names. */
const MODELS = '/v1/models/'

/**
 * A path for a log or a message. People paste keys of any provider where an id belongs, so random parts are hidden too, and
 * the management API takes an email for an account.
 */
export function scrubPath(path: string): string {
  const known = scrub(path)
  const hasEmail = EMAIL.test(known) && !known.startsWith(MODELS)
  if (!LONG_PART.test(known) && !hasEmail) return known
  return known
    .split('/')
    .map((part) => (hasEmail && EMAIL.test(part) ? EMAIL_HIDDEN : looksLikeSecret(part) ? HIDDEN : part))
    .join('/')
}

const SHOWN_MAX = 300

/** Foreign text for a message: one line, bounded, scrubbed. */
export function oneLine(text: string): string {
  const line = scrub(withoutControls(text.replace(/[\s\p{Cc}]+/gu, ' '))).trim()
  return line.length > SHOWN_MAX ? `${line.slice(0, SHOWN_MAX)}…` : line
}

/** Deeper chains of causes are loops. */
const DEPTH_MAX = 4
/** The first few errors of an AggregateError explain it. */
const ERRORS_MAX = 5

export interface DescribedError {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly stack?: string
  readonly cause?: DescribedError
  readonly errors?: readonly DescribedError[]
}

/** An error for the log: every text scrubbed, and no other properties, because libraries attach requests to errors. */
export function describeError(error: unknown, depth = 0): DescribedError {
  if (!(error instanceof Error)) return { name: typeof error, message: scrub(textOf(error)) }
  const { code } = error as NodeJS.ErrnoException
  const described = {
    name: scrub(String(error.name)),
    message: scrub(String(error.message)),
    ...(typeof code === 'string' ? { code: scrub(code) } : {}),
    ...(typeof error.stack === 'string' ? { stack: scrub(error.stack) } : {}),
  }
  if (depth >= DEPTH_MAX) return described
  return {
    ...described,
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause, depth + 1) }),
    ...(error instanceof AggregateError
      ? { errors: error.errors.slice(0, ERRORS_MAX).map((each) => describeError(each, depth + 1)) }
      : {}),
  }
}

function textOf(value: unknown): string {
  try {
    return String(value)
  } catch {
    return 'a value that cannot be shown'
  }
}
