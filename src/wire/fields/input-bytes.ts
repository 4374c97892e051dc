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
