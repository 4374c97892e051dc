import { type Problem, problem } from '../model/problem.ts'

export type IdempotencyKeyOutcome =
  | { readonly kind: 'none' }
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'invalid'; readonly problem: Problem }

const KEY = /^[\x21-\x7e]{1,255}$/
/** A structured-field string: in quotes, with a backslash before a quote and before a backslash. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/

/** The header `Idempotency-Key`, bare or in quotes: both spell the same key. */
export function readIdempotencyKey(header: string | string[] | undefined): IdempotencyKeyOutcome {
  if (header === undefined) return { kind: 'none' }
  const text = String(header)
  const key = text.startsWith('"') ? QUOTED.exec(text)?.[1]?.replace(/\\(.)/g, '$1') : text
  return key !== undefined && KEY.test(key) ? { kind: 'key', key } : INVALID
}

const INVALID: IdempotencyKeyOutcome = {
  kind: 'invalid',
  problem: problem(
    'idempotency_key_invalid',
    'The Idempotency-Key is not 1 to 255 visible ASCII characters, bare or in double quotes. Send one such as a UUID, or leave the header out.',
    { param: 'Idempotency-Key' },
  ),
}
