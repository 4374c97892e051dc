/** The known name that was most likely meant; undefined if none is near. */
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

/** Insertions, deletions, substitutions and swaps of neighbours: `prot` is one step from `port`. */
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

/**
 * Invisible characters, which make two names look alike or change their order: control characters, direction marks and overrides,
 * zero-width spaces, line separators, halves of surrogate pairs. Three kinds are allowed where they shape visible text.
 */
const INVISIBLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/gu

/** ZWNJ and ZWJ shape letters of many scripts and join emoji. Between Latin letters they are only invisible. */
const JOINS =
  /(?<=(?!\p{sc=Inherited})\p{M}|\uFE0F|[\p{Extended_Pictographic}\p{Emoji_Modifier}]|(?![\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Han}])\p{L})[\u200C\u200D](?=[\p{L}\p{M}\p{Extended_Pictographic}])/gu
/** Variation selectors after a pictograph, a sign or a letter that has variants. */
const VARIANTS =
  /(?<=[\p{So}\p{Sm}\p{Po}\p{Extended_Pictographic}\p{sc=Han}\p{sc=Mongolian}0-9#*])[\u180B-\u180D\uFE00-\uFE0F\u{E0100}-\u{E01EF}]/gu
/** Subdivision flags: a black flag and tag letters. */
const FLAGS = /(?<=\u{1F3F4})[\u{E0030}-\u{E0039}\u{E0061}-\u{E007A}]+\u{E007F}/gu

/** The first invisible character, as `U+202E`; undefined if there is none. */
export function findUnseen(text: string): string | undefined {
  if (/^[\x20-\x7e]*$/.test(text)) return undefined
  const left = text.replace(JOINS, '').replace(VARIANTS, '').replace(FLAGS, '')
  const [unseen] = left.match(INVISIBLE) ?? []
  return unseen && `U+${unseen.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
}

/** What is wrong with a name, as the end of a sentence; undefined if nothing is. */
export function describeUnseen(text: string): string | undefined {
  const unseen = findUnseen(text)
  return unseen && `has an invisible character (${unseen})`
}

/** C0 and C1 controls except tab and line feed, direction marks, and the rest of Unicode's format class. */
const CONTROLS = /(?![\n\t])\p{Cc}|[\p{Cf}\p{Zl}\p{Zp}]/gu

/** Removes characters that reorder or hide text or control a terminal, including joiners. */
export const withoutControls = (text: string): string => text.replace(CONTROLS, '')

/**
 * One row of a CSV file (RFC 4180). Spreadsheets evaluate a text that begins like a formula, so such a text gets an apostrophe.
 * Numbers and plain decimals stay unchanged.
 */
export const csvRow = (cells: readonly (string | number)[]): string => `${cells.map(cellOf).join(',')}\r\n`

const PLAIN_NUMBER = /^-?\d+(\.\d+)?$/
/** Also behind apostrophes, so that `plainCell` gives back a text that began with one. */
const FORMULA = /^'*[\s\p{Cc}]*[=+\-@|%＝＋－＠]/u

function cellOf(value: string | number): string {
  if (typeof value === 'number' || PLAIN_NUMBER.test(value)) return String(value)
  const harmless = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]|^'|^\s|\s$/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

/** The text of a cell that `csvRow` has written. */
export const plainCell = (cell: string): string => (cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell)

export const stringOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
