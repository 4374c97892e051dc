import type { Command } from 'commander'
import { shellWord } from '../lib/anywhere/shell-word.ts'
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
    .option('--limit <n>', 'how many, at most 200', parseCount, LIMIT)

const LIMIT = 50

interface ShownList {
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
  /** The end of this page; null where nothing is behind it. */
  readonly next: string | null
  /** The words of the command that lists it, but for those that choose a page. */
  readonly command: readonly string[]
  readonly page: PageOptions
  /** Said where the list is empty from its beginning. */
  readonly none: string
}

export function showList(style: Style, { columns, rows, next, command, page, none }: ShownList): Shown {
  if (rows.length === 0) return { data: '', aside: `${page.after === undefined ? none : 'There are no more.'}\n` }
  const data = formatTable(style, columns, rows)
  if (next === null) return { data }
  const limit = page.limit === LIMIT ? [] : ['--limit', String(page.limit)]
  const more = ['millrace', ...command, ...limit, '--after', next]
  return { data, aside: `There are more:  ${more.map(shellWord).join(' ')}\n` }
}
