import type { Command } from 'commander'
import type { Shown } from './command-context.ts'
import { type Column, formatTable, type Style } from './format.ts'
import { parseCount } from './option-values.ts'

/** Which page of a list is wished. */
export interface PageOptions {
  readonly after?: string
  readonly limit: number
}

/** Every list is asked for its pages in the same way. */
export const inPages = (list: Command): Command =>
  list
    .option('--after <page>', 'the end of the page before')
    .option('--limit <n>', 'how many, at most 200', parseCount, 50)

interface ShownList {
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
  /** The end of this page; null where nothing is behind it. */
  readonly next: string | null
  /** What lists the page behind it, but for where that begins. */
  readonly command: string
  /** Said where the list is empty. */
  readonly none: string
}

export function showList(style: Style, { columns, rows, next, command, none }: ShownList): Shown {
  if (rows.length === 0) return { data: '', aside: `${none}\n` }
  const data = formatTable(style, columns, rows)
  return next === null ? { data } : { data, aside: `There are more:  ${command} --after ${next}\n` }
}
