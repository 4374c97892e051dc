import type { Fields } from '../../lib/is-object.ts'
import type { RequestBody } from '../../model/turn.ts'
import { rewriteTools, type ToolFate } from '../hosted-tools.ts'
import type { ReadTools } from './read-tools.ts'

/** The members that are written anew for every lane, as bytes: a tool that stays whole keeps its own. */
export function rewrittenTools(
  body: RequestBody,
  tools: readonly Fields[],
  { changes, kept }: Extract<ReadTools, { kind: 'tools' }>,
): Map<string, Buffer | null> {
  const fateOf = (tool: Fields | undefined, index: number): ToolFate =>
    tool === undefined ? 'left-out' : tool === tools[index] ? 'kept' : Buffer.from(JSON.stringify(tool))
  return new Map(
    [...changes].map(([name, changed]) => {
      if (changed === undefined) return [name, null]
      return [name, name === 'tools' ? rewriteTools(body, kept.map(fateOf)) : Buffer.from(JSON.stringify(changed))]
    }),
  )
}
