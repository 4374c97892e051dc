import type { Fields } from '../../lib/is-object.ts'
import type { Conversation } from '../../model/conversation.ts'
import { type Effort, spellEffort } from '../../model/effort.ts'
import type { ResponsesDialect } from './dialects.ts'

interface WordTarget {
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

/** How a lane is told to reason, and to tell of it; undefined: nothing is said of it. */
export function writeReasoning({ reasoning }: Pick<Conversation, 'reasoning'>, target: WordTarget): Fields | undefined {
  const effort = effortWord(target)
  if (effort === undefined && reasoning.summary === undefined) return undefined
  return { effort, summary: reasoning.summary }
}
