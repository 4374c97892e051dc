import { isObject } from '../../lib/types.ts'
import { tryParse } from '../json/strings.ts'

/** What signs a thought, and on which part of the answer it came: it goes back on the same. */
interface ThoughtSignature {
  readonly signature: string
  readonly on: SignedPart
}

export type SignedPart = 'call' | 'text'

/** In place of the signature of a call that this model has not made: the documented word for histories from elsewhere. */
export const FOREIGN_CALL = 'skip_thought_signature_validator'

export const writeSignature = ({ signature, on }: ThoughtSignature): string =>
  JSON.stringify({ thoughtSignature: signature, on })

/** Undefined for what is none: a client may have carried anything. */
export function readSignature(data: string | undefined): ThoughtSignature | undefined {
  const parsed = data === undefined ? undefined : tryParse(data)
  if (!isObject(parsed)) return undefined
  const { thoughtSignature: signature, on } = parsed
  if (typeof signature !== 'string' || signature === '' || (on !== 'call' && on !== 'text')) return undefined
  return { signature, on }
}
