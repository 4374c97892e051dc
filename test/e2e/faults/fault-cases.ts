import type { Cell, FaultRow } from './fault-row.ts'
import { FAULT_TABLE } from './fault-table.ts'
import { ODDITY_TABLE } from './oddity-table.ts'

export type Column = 'jsonBefore' | 'jsonAfter' | 'streamBefore' | 'streamAfter'

export interface Case {
  readonly row: FaultRow
  readonly column: Column
  readonly cell: Cell
  readonly title: string
}

const COLUMN_WORDS: Readonly<Record<Column, string>> = {
  jsonBefore: 'JSON, nothing has come',
  jsonAfter: 'JSON, half has come',
  streamBefore: 'stream, before content',
  streamAfter: 'stream, after content',
}

export const CASES: readonly Case[] = [...FAULT_TABLE, ...ODDITY_TABLE].flatMap((row) =>
  (Object.keys(COLUMN_WORDS) as Column[]).flatMap((column) => {
    const cell = row[column]
    const title = `${row.fault}${row.upstream ? ` (${row.upstream})` : ''}: ${COLUMN_WORDS[column]}`
    return cell === undefined ? [] : [{ row, column, cell, title }]
  }),
)
