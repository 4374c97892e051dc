import { scrub } from './scrub.ts'

/** Letters of both cases with a digit, as in nearly every key, or a long number in hex. Our own ids are in lower case. */
const RANDOM = /\b(?=\w*[a-z])(?=\w*[A-Z])(?=\w*\d)\w{20,}\b|[0-9a-f]{32,}/

/**
 * A path for a log or a sentence. Where an id belongs people paste keys, of any kind and maker: besides what is known to
 * look like one, every part that looks like nothing but chance is left out.
 */
export const scrubPath = (path: string): string =>
  scrub(path)
    .split('/')
    .map((part) => (part.length >= 20 && RANDOM.test(part) ? '[hidden]' : part))
    .join('/')
