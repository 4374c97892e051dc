import { scrub } from './scrub.ts'

/** Letters of both cases with a digit, as in nearly every key, or a long number in hex. Our own ids are in lower case. */
const RANDOM = /\b(?=\w*[a-z])(?=\w*[A-Z])(?=\w*\d)\w{20,}\b|[0-9a-f]{32,}/

/** What people and browsers put between the letters of a redemption code. */
const BETWEEN = /%20|%2d|%e2%80%9[0-5]|[-+.~]/gi
/** Of a code as it is read; an id has a `_`, and is none. Two steps: one pattern for both would look at some paths for seconds. */
const CODE = /^(?:mr)?[0-9a-z]{25}$/i
const HIDDEN_MIN = 20
const CODE_MAX = 1000
const looksLikeSecret = (part: string): boolean =>
  part.length >= HIDDEN_MIN && (RANDOM.test(part) || (part.length < CODE_MAX && CODE.test(part.replace(BETWEEN, ''))))

/**
 * A path for a log or a sentence. Where an id belongs people paste keys, of any kind and maker: besides what is known to
 * look like one, every part that looks like nothing but chance is left out.
 */
export const scrubPath = (path: string): string =>
  scrub(path)
    .split('/')
    .map((part) => (looksLikeSecret(part) ? '[hidden]' : part))
    .join('/')
