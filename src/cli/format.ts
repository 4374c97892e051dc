import type { PlanView } from '../admin/plans.ts'

type Paint = (text: string) => string

/** Text styles. Without colours, each returns its text. */
export interface Style {
  readonly bold: Paint
  readonly dim: Paint
  readonly green: Paint
  readonly yellow: Paint
  readonly red: Paint
}

const plain: Paint = (text) => text
const sgr =
  (open: number, close: number): Paint =>
  (text) =>
    `\u001b[${open}m${text}\u001b[${close}m`

export const styleFor = (colours: boolean): Style =>
  colours
    ? { bold: sgr(1, 22), dim: sgr(2, 22), green: sgr(32, 39), yellow: sgr(33, 39), red: sgr(31, 39) }
    : { bold: plain, dim: plain, green: plain, yellow: plain, red: plain }

/** `1 account`, `2 accounts`. */
export const countOf = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`

/** `12.00 USD every 5h, 60.00 USD every month` */
export const describeWindows = ({ windows }: Pick<PlanView, 'windows'>): string =>
  windows.map(({ name, allowance }) => `${allowance} USD every ${name}`).join(', ')

export interface Column {
  readonly title: string
  readonly align?: 'left' | 'right'
}

/** Control characters in a name could move the cursor or recolour the terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g

export const printable = (text: string): string => text.replace(CONTROL, '\ufffd')

/** A title that starts with `>` aligns its column to the right. */
export const columnsOf = (...titles: readonly string[]): Column[] =>
  titles.map((title) => (title.startsWith('>') ? { title: title.slice(1), align: 'right' } : { title }))

/** Columns two spaces apart, without lines, so that `cut` and `awk` can read them. */
export function formatTable(style: Style, columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const [head, ...lines] = alignColumns([columns.map(({ title }) => title), ...rows], columns)
  return `${[style.dim(head!), ...lines].join('\n')}\n`
}

export function alignColumns(rows: readonly (readonly string[])[], columns: readonly Column[] = []): string[] {
  const cells = rows.map((row) => row.map(printable))
  const widths: number[] = []
  for (const row of cells)
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length)
  const padded = (cell: string, index: number) =>
    columns[index]?.align === 'right' ? cell.padStart(widths[index]!) : cell.padEnd(widths[index]!)
  return cells.map((row) => row.map(padded).join('  ').trimEnd())
}

/** `name  value` lines with aligned values; facts without a value are left out. */
export function formatFacts(style: Style, facts: readonly (readonly [string, string | null | undefined])[]): string {
  const known = facts.filter((fact): fact is readonly [string, string] => fact[1] !== null && fact[1] !== undefined)
  const width = Math.max(...known.map(([name]) => name.length))
  return `${known.map(([name, value]) => `${style.dim(name.padEnd(width))}  ${printable(value)}`).join('\n')}\n`
}

/** The day of an ISO time. */
export const dayOf = (time: string): string => time.slice(0, 10)
