import { isObject } from '../../lib/is-object.ts'
import type { RequestBody } from '../../model/turn.ts'

/** How much of a request certainly is input: what is left out, or written anew for every lane, counts as it goes. */
export function inputBytes(
  { members }: RequestBody,
  fields: ReadonlySet<string>,
  rewritten: ReadonlyMap<string, Buffer | null>,
): number {
  let bytes = 0
  for (const { name, valueStart, valueEnd } of members) {
    if (!fields.has(name)) continue
    const written = rewritten.get(name)
    bytes += written === undefined ? valueEnd - valueStart : (written?.length ?? 0)
  }
  return bytes
}

/** What of a request makes a provider explain tools to its model. */
interface ToolsOfRequest {
  /** How many tools it declares. */
  readonly declared: number
  /** The form that the answer shall have. */
  readonly format: unknown
  /** It goes on from calls of earlier turns. */
  readonly hasCalls: boolean
}

/**
 * As how many tools a prompt has them explained. A schema that the answer has to follow is explained like a tool, and on
 * some lanes it is one; calls of the past have their tools declared again where the client does not.
 */
export const toolsInPrompt = ({ declared, format, hasCalls }: ToolsOfRequest): number =>
  declared + (isObject(format) && format.type === 'json_schema' ? 1 : 0) + (declared === 0 && hasCalls ? 1 : 0)
