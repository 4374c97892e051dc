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

/**
 * What nobody sees in a name, so that two names look alike or one is read in another order: control characters, marks and
 * overrides of direction, spaces without width, separators of lines, halves of pairs. Three kinds of invisible characters
 * are a part of what is seen, and stay where they are just that.
 */
const INVISIBLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/gu

/** ZWNJ and ZWJ shape the letters of many scripts, and join emoji into one. Between Latin letters they only hide. */
const JOINS =
  /(?<=(?!\p{sc=Inherited})\p{M}|\uFE0F|[\p{Extended_Pictographic}\p{Emoji_Modifier}]|(?![\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Han}])\p{L})[\u200C\u200D](?=[\p{L}\p{M}\p{Extended_Pictographic}])/gu
/** Behind a pictograph, a sign or a letter of theirs: how it is drawn. */
const VARIANTS =
  /(?<=[\p{So}\p{Sm}\p{Po}\p{Extended_Pictographic}\p{sc=Han}\p{sc=Mongolian}0-9#*])[\u180B-\u180D\uFE00-\uFE0F\u{E0100}-\u{E01EF}]/gu
/** The flags of countries within countries are a black flag and letters that only flags have. */
const FLAGS = /(?<=\u{1F3F4})[\u{E0030}-\u{E0039}\u{E0061}-\u{E007A}]+\u{E007F}/gu

/** The first character that nobody would see, as `U+202E`; undefined where all of a text is seen. */
export function findUnseen(text: string): string | undefined {
  if (/^[\x20-\x7e]*$/.test(text)) return undefined
  const left = text.replace(JOINS, '').replace(VARIANTS, '').replace(FLAGS, '')
  const [unseen] = left.match(INVISIBLE) ?? []
  return unseen && `U+${unseen.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
}

/** What is wrong with a name, as a sentence goes on behind it; undefined for nothing. */
export function describeUnseen(text: string): string | undefined {
  const unseen = findUnseen(text)
  return unseen && `has a character that nobody can see (${unseen})`
}

/** C0 and C1 controls but for tab and line feed; marks and overrides of direction and all else of Unicode's format class. */
const CONTROLS = /(?![\n\t])\p{Cc}|[\p{Cf}\p{Zl}\p{Zp}]/gu

/** Text of others without what reorders it, hides in it or steers a terminal. Joiners of letters and emoji go as well. */
export const withoutControls = (text: string): string => text.replace(CONTROLS, '')

/**
 * One row of a CSV file (RFC 4180). Spreadsheets calculate what begins like a formula: in front of a text that does, an
 * apostrophe keeps it a text. Numbers are handed in as numbers, and amounts as plain decimals, which stay as they are.
 */
export const csvRow = (cells: readonly (string | number)[]): string => `${cells.map(cellOf).join(',')}\r\n`

const PLAIN_NUMBER = /^-?\d+(\.\d+)?$/
const FORMULA = /^[\s\p{Cc}]*[=+\-@|%＝＋－＠]/u

function cellOf(value: string | number): string {
  if (typeof value === 'number' || PLAIN_NUMBER.test(value)) return String(value)
  const harmless = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]|^'|^\s|\s$/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

/** A value that is a text; undefined where it is anything else. */
export const stringOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
