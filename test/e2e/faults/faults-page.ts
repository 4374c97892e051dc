import { PROBLEMS } from '../../../src/model/problem.ts'
import type { Cell, FaultRow } from './fault-row.ts'
import { FAULT_TABLE } from './fault-table.ts'
import { ODDITY_TABLE } from './oddity-table.ts'

const CHARGE_WORDS = {
  produced: 'input and output so far',
  reported: 'its count',
  bounded: 'its count, cut to the bound',
} as const

function cellWords(cell: Cell | undefined): string {
  if (cell === undefined) return '–'
  switch (cell.kind) {
    case 'whole':
      return CHARGE_WORDS[cell.charge].replace(' so far', '')
    case 'broken':
      return `\`${cell.code}\` in the stream; ${CHARGE_WORDS[cell.charge]}`
    case 'refused': {
      const wait = cell.retryAfter && cell.retryAfter !== '1' ? `, \`retry-after: ${cell.retryAfter}\`` : ''
      return `${PROBLEMS[cell.code].status} \`${cell.code}\`${wait}; free; ${cell.another}`
    }
  }
}

const rowOf = (...cells: readonly string[]): string => `| ${cells.join(' | ')} |`

const faultRow = (row: FaultRow): string =>
  rowOf(row.description, ...[row.jsonBefore, row.jsonAfter, row.streamBefore, row.streamAfter].map(cellWords))

const oddityRow = (row: FaultRow): string =>
  rowOf(row.description, cellWords(row.jsonBefore), cellWords(row.streamBefore))

/** The rows of both tables of `docs/operate/faults.md`, as they have to stand there. */
export const documentedRows = (): string[] => [...FAULT_TABLE.map(faultRow), ...ODDITY_TABLE.map(oddityRow)]

/** The rows that stand on a page, without the heads of its tables. */
export function rowsOnPage(page: string): string[] {
  const lines = page.split('\n')
  return lines.filter(
    (line, at) => line.startsWith('| ') && !lines[at + 1]?.startsWith('| ---') && !line.startsWith('| ---'),
  )
}
