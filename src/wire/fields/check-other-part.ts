import type { Fields } from '../../lib/is-object.ts'
import type { Problem } from '../../model/problem.ts'
import type { OtherInput } from '../../model/turn.ts'
import { type PartSource, wordsOnly } from './check-source.ts'

/** A part that is not text: what a model's `inputs` calls it, and what it comes as. */
export interface OtherPart {
  readonly kind: OtherInput['kind']
  readonly read: (param: string, part: Fields) => PartSource | Problem
}

/** Notes it among `others`, for the model to decide; undefined where only words may stand. */
export function checkOtherPart(
  { kind, read }: OtherPart,
  param: string,
  part: Fields,
  others: OtherInput[] | undefined,
): Problem | undefined {
  if (others === undefined) return wordsOnly(param)
  const source = read(param, part)
  if ('code' in source) return source
  others.push({ kind, param, ...source })
  return undefined
}
