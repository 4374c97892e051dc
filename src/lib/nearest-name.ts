/** The known name that somebody most likely meant, or undefined when none is near. */
export function nearestName(written: string, known: Iterable<string>): string | undefined {
  // `maxOutputTokens` and `max-output-tokens` mean `max_output_tokens`.
  const wanted = written
    .slice(0, 64)
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase()
  let best: { name: string; distance: number } | undefined
  for (const name of known) {
    const distance = editDistance(wanted, name.toLowerCase())
    if (distance <= Math.max(1, Math.floor(name.length / 3)) && (best === undefined || distance < best.distance)) {
      best = { name, distance }
    }
  }
  return best?.name
}

/** Letters added, left out, changed, or swapped with their neighbour: `prot` is one step from `port`. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? before[j - 2]! + 1 : substitution
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, substitution, swap))
    }
    before = row
    row = next
  }
  return row[b.length]!
}
