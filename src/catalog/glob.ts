/** Whether a key's or a plan's entry is a pattern and not an id. */
export const isGlob = (entry: string): boolean => entry.includes('*')

/**
 * `*` stands for anything, `/` included; everything else for itself. The pieces between the stars are looked for from
 * left to right, each where it first occurs, so no pattern makes it try twice.
 */
export function matchesGlob(pattern: string, name: string): boolean {
  const pieces = pattern.split('*')
  const first = pieces[0]!
  if (pieces.length === 1) return pattern === name
  const last = pieces[pieces.length - 1]!
  const end = name.length - last.length
  if (end < first.length || !name.startsWith(first) || !name.endsWith(last)) return false
  let from = first.length
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, from)
    if (found < 0 || found + piece.length > end) return false
    from = found + piece.length
  }
  return true
}
