import type { Effort } from '../../model/effort.ts'
import { spellEffort } from '../../model/spell-effort.ts'
import type { ResponsesDialect } from './dialects.ts'

export interface WordTarget {
  readonly effort: Effort | undefined
  readonly dialect: ResponsesDialect
}

/** What `reasoning.effort` says to this model; undefined: nothing. */
export function effortWord({ effort, dialect }: WordTarget): string | undefined {
  if (effort === undefined || dialect.withoutFields.includes('reasoning')) return undefined
  const spelling = spellEffort(dialect.traits.efforts, effort)
  if (spelling === 'disabled') return 'none'
  return typeof spelling === 'string' ? spelling : undefined
}

/** An effort was asked for, and the protocol has no place for how this model is told of it: a number, or nothing near. */
export const isEffortLost = (target: WordTarget): boolean =>
  target.effort !== undefined && effortWord(target) === undefined
