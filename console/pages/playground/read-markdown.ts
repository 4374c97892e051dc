/** The part of Markdown that models write. What it does not know stays text. */
export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly text: string }
  | { readonly kind: 'paragraph'; readonly text: string }
  | { readonly kind: 'code'; readonly language: string; readonly code: string }
  | { readonly kind: 'quote'; readonly blocks: readonly Block[] }
  | { readonly kind: 'list'; readonly start: number | undefined; readonly items: readonly (readonly Block[])[] }
  | { readonly kind: 'table'; readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] }
  | { readonly kind: 'line' }

export type Inline =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'strong' | 'emphasis' | 'deleted'; readonly parts: readonly Inline[] }
  | { readonly kind: 'link'; readonly address: string; readonly parts: readonly Inline[] }

const FENCE = /^ {0,3}(```+|~~~+)\s*([^`]*)$/
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/
const RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/
const QUOTE = /^ {0,3}> ?/
const ITEM = /^( *)([-*+]|\d{1,9}[.)])\s+/
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/
/** Deeper ones stay text: a bound for what an answer can make the page do. */
const DEPTH_MAX = 8

export const readBlocks = (text: string): Block[] => readLines(text.split('\n'), 0)

function readLines(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = []
  for (let at = 0; at < lines.length; ) {
    const line = lines[at]!
    if (line.trim() === '') {
      at += 1
      continue
    }
    const read = depth < DEPTH_MAX ? readBlock(lines, at, depth) : undefined
    if (read !== undefined) {
      blocks.push(read.block)
      at = read.next
      continue
    }
    let end = at + 1
    while (end < lines.length && lines[end]!.trim() !== '' && (depth >= DEPTH_MAX || !opens(lines, end))) end += 1
    blocks.push({ kind: 'paragraph', text: lines.slice(at, end).join('\n').trim() })
    at = end
  }
  return blocks
}

/** Whether a line ends the paragraph before it. */
const opens = (lines: readonly string[], at: number): boolean => {
  const line = lines[at]!
  return (
    [FENCE, HEADING, RULE, QUOTE].some((pattern) => pattern.test(line)) ||
    /^ {0,3}([-*+]|1[.)])\s/.test(line) ||
    isTable(lines, at)
  )
}

const isTable = (lines: readonly string[], at: number): boolean =>
  lines[at]!.includes('|') && TABLE_RULE.test(lines[at + 1] ?? '') && (lines[at + 1] ?? '').includes('-')

interface ReadBlock {
  readonly block: Block
  /** The line after it. */
  readonly next: number
}

function readBlock(lines: readonly string[], at: number, depth: number): ReadBlock | undefined {
  const line = lines[at]!
  const fence = FENCE.exec(line)
  if (fence !== null) return readCode(lines, at, { mark: fence[1]!, language: fence[2]!.trim() })
  const heading = HEADING.exec(line)
  if (heading !== null)
    return { block: { kind: 'heading', level: heading[1]!.length, text: heading[2]! }, next: at + 1 }
  if (RULE.test(line)) return { block: { kind: 'line' }, next: at + 1 }
  if (QUOTE.test(line)) {
    let end = at
    while (end < lines.length && QUOTE.test(lines[end]!)) end += 1
    const inner = lines.slice(at, end).map((each) => each.replace(QUOTE, ''))
    return { block: { kind: 'quote', blocks: readLines(inner, depth + 1) }, next: end }
  }
  if (ITEM.test(line)) return readList(lines, at, depth)
  if (isTable(lines, at)) return readTable(lines, at)
  return undefined
}

/** A fence without an end is still being written. */
function readCode(
  lines: readonly string[],
  at: number,
  { mark, language }: { readonly mark: string; readonly language: string },
): ReadBlock {
  let end = at + 1
  while (end < lines.length && !(lines[end]!.trim().startsWith(mark) && lines[end]!.trim().length <= mark.length + 1))
    end += 1
  const indent = /^ */.exec(lines[at]!)![0].length
  const code = lines.slice(at + 1, end).map((each) => each.replace(new RegExp(`^ {0,${indent}}`), ''))
  return { block: { kind: 'code', language, code: code.join('\n') }, next: end + 1 }
}

/** An item has its own lines, and all that are indented below it. */
function readList(lines: readonly string[], at: number, depth: number): ReadBlock {
  const [, indent = '', mark = ''] = ITEM.exec(lines[at]!)!
  const isOrdered = /\d/.test(mark)
  const items: Block[][] = []
  let end = at
  while (end < lines.length) {
    const item = ITEM.exec(lines[end]!)
    if (item === null || item[1] !== indent || /\d/.test(item[2]!) !== isOrdered || RULE.test(lines[end]!)) break
    const own = [lines[end]!.slice(item[0].length)]
    end += 1
    const isInside = (line: string) => /^ */.exec(line)![0].length > indent.length
    while (end < lines.length) {
      const line = lines[end]!
      const blankInside = line.trim() === '' && isInside(lines[end + 1] ?? '')
      const lazy = line.trim() !== '' && own.at(-1)!.trim() !== '' && !ITEM.test(line) && !opens(lines, end)
      if (!blankInside && !(line.trim() !== '' && isInside(line)) && !lazy) break
      own.push(line.slice(Math.min(item[0].length, /^ */.exec(line)![0].length)))
      end += 1
    }
    items.push(readLines(own, depth + 1))
    // A blank line between two items of one list.
    if (lines[end]?.trim() === '' && ITEM.exec(lines[end + 1] ?? '')?.[1] === indent) end += 1
  }
  const start = isOrdered ? Number.parseInt(mark, 10) : undefined
  return { block: { kind: 'list', start, items }, next: end }
}

const cellsOf = (line: string): string[] =>
  line
    .trim()
    .replace(/^\||(?<!\\)\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))

function readTable(lines: readonly string[], at: number): ReadBlock {
  const head = cellsOf(lines[at]!)
  let end = at + 2
  while (end < lines.length && lines[end]!.includes('|')) end += 1
  const rows = lines.slice(at + 2, end).map((line) => {
    const cells = cellsOf(line)
    return head.map((_, column) => cells[column] ?? '')
  })
  return { block: { kind: 'table', head, rows }, next: end }
}

const ADDRESS = String.raw`(?:https?:\/\/|mailto:)[^\s<>()]+(?:\([^\s<>()]*\)[^\s<>()]*)*`

/** In this order: the first one that matches at the earliest place counts. */
const INLINES: readonly { readonly pattern: RegExp; read(match: RegExpExecArray, depth: number): Inline }[] = [
  { pattern: /\\([\\`*_{}[\]()#+.!|~<>-])/, read: ([, text]) => ({ kind: 'text', text: text! }) },
  { pattern: /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)/, read: ([, , text]) => ({ kind: 'code', text: text!.trim() }) },
  {
    pattern: new RegExp(String.raw`!?\[([^\]\n]*)\]\((${ADDRESS})(?:\s+"[^"\n]*")?\)`),
    read: ([, text, address], depth) => ({
      ...{ kind: 'link', address: address! },
      parts: text === '' ? [{ kind: 'text', text: address! }] : inlinesOf(text!, depth),
    }),
  },
  {
    // Punctuation at the end belongs to the sentence.
    pattern: new RegExp(`<?(${ADDRESS}(?<![.,;:!?'"]))>?`),
    read: ([, address]) => ({ kind: 'link', address: address!, parts: [{ kind: 'text', text: address! }] }),
  },
  {
    pattern: /(\*\*|__)(?=\S)([\s\S]*?\S)\1(?!\*)/,
    read: ([, , text], depth) => ({ kind: 'strong', parts: inlinesOf(text!, depth) }),
  },
  {
    pattern: /~~(?=\S)([\s\S]*?\S)~~/,
    read: ([, text], depth) => ({ kind: 'deleted', parts: inlinesOf(text!, depth) }),
  },
  {
    pattern: /\*(?=[^\s*])([^*]*[^\s*])\*|(?<!\w)_(?=[^\s_])([^_]*[^\s_])_(?!\w)/,
    read: ([, stars, lines], depth) => ({ kind: 'emphasis', parts: inlinesOf((stars ?? lines)!, depth) }),
  },
]

export const readInline = (text: string): Inline[] => inlinesOf(text, 0)

/** Longer texts are shown as they are: their patterns would be searched for too long. */
const INLINE_MAX = 20_000

function inlinesOf(text: string, depth: number): Inline[] {
  if (depth > DEPTH_MAX || text.length > INLINE_MAX) return [{ kind: 'text', text }]
  const found: Inline[] = []
  let rest = text
  while (rest !== '') {
    let first: { readonly match: RegExpExecArray; readonly of: (typeof INLINES)[number] } | undefined
    for (const of of INLINES) {
      const match = of.pattern.exec(rest)
      if (match !== null && (first === undefined || match.index < first.match.index)) first = { match, of }
    }
    if (first === undefined) break
    const { match, of } = first
    if (match.index > 0) found.push({ kind: 'text', text: rest.slice(0, match.index) })
    found.push(of.read(match, depth + 1))
    rest = rest.slice(match.index + match[0].length)
  }
  return rest === '' ? found : [...found, { kind: 'text', text: rest }]
}
