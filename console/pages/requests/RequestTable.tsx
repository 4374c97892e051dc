import { useNavigate } from '@tanstack/react-router'
import { DataTable } from '../../ui/DataTable.tsx'
import { READ } from '../../ui/useIsRead.ts'
import type { RequestItem } from './useOutcome.ts'
import { type RequestColumn, useRequestColumns } from './useRequestColumns.tsx'

interface RequestTableProps {
  readonly caption: string
  readonly rows: readonly RequestItem[]
  /** What is the same in all of them, or beside the point. */
  readonly without?: readonly RequestColumn[]
  readonly digits?: 'short' | 'exact'
}

/** A list of requests, wherever it stands; each row leads to its request. */
export function RequestTable({ caption, rows, without = [], digits = 'short' }: RequestTableProps) {
  const navigate = useNavigate()
  const columns = useRequestColumns(digits)
  return (
    <div {...READ}>
      <DataTable
        caption={caption}
        columns={columns.filter(({ id }) => !without.includes(id))}
        rows={rows}
        rowId={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: '/requests/$request', params: { request: id } })}
      />
    </div>
  )
}
