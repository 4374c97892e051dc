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
  const cells = rows.map((row) => columns.map((_, index) => printable(row[index] ?? '')))
  const widths = columns.map(({ title }, index) => Math.max(title.length, ...cells.map((row) => row[index]!.length)))
  const line = (values: readonly string[]) =>
    values
      .map((value, index) =>
        columns[index]!.align === 'right' ? value.padStart(widths[index]!) : value.padEnd(widths[index]!),
      )
      .join('  ')
      .trimEnd()
  const head = style.dim(line(columns.map(({ title }) => title)))
  return `${[head, ...cells.map(line)].join('\n')}\n`
}

/** `name  value` lines with the values in one column; pairs without a value are left out. */
export function formatFacts(style: Style, facts: readonly (readonly [string, string | null | undefined])[]): string {
  const told = facts.filter((fact): fact is readonly [string, string] => fact[1] !== null && fact[1] !== undefined)
  const width = Math.max(...told.map(([name]) => name.length))
  return `${told.map(([name, value]) => `${style.dim(name.padEnd(width))}  ${printable(value)}`).join('\n')}\n`
}
