import type { Style } from './style.ts'

export interface Column {
  readonly title: string
  readonly align?: 'left' | 'right'
}

/** Control characters would let a name move the cursor or recolour the terminal of whoever lists it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g

export const printable = (text: string): string => text.replace(CONTROL, '\ufffd')

/** Columns two spaces apart, numbers flush right, no lines drawn: reads well and survives `cut` and `awk`. */
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

/** `name  value` lines with the values in one column; pairs without a value are left out. */
export function formatFacts(style: Style, facts: readonly (readonly [string, string | null | undefined])[]): string {
  const told = facts.filter((fact): fact is readonly [string, string] => fact[1] !== null && fact[1] !== undefined)
  const width = Math.max(...told.map(([name]) => name.length))
  return `${told.map(([name, value]) => `${style.dim(name.padEnd(width))}  ${printable(value)}`).join('\n')}\n`
}
