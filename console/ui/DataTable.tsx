import type { KeyboardEvent, MouseEvent, ReactNode } from 'react'
import { cx } from '../lib/cx.ts'
import { useNarrow } from './layout.tsx'

export interface Column<Row> {
  readonly id: string
  readonly header: string
  readonly cell: (row: Row) => ReactNode
  /** Numbers are aligned at the end so that their digits line up. */
  readonly align?: 'start' | 'end'
  /** On a narrow screen: the first line, the corner, hidden, or (by default) a line with its header. */
  readonly narrow?: 'title' | 'corner' | 'left-out'
  /** The header is for screen readers only. */
  readonly quiet?: boolean
}

interface DataTableProps<Row> {
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowId: (row: Row) => string
  /** Called on Enter or on a click on the row. A link in the first cell does the same. */
  readonly onOpen?: (row: Row) => void
  /** The totals row. */
  readonly total?: Row
}

/** A table, or a list of cards on a narrow screen. j, k and Enter move through the rows. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const narrow = useNarrow()
  return narrow ? <Cards {...props} /> : <Table {...props} />
}

function Table<Row>({ caption, columns, rows, rowId, onOpen, total }: DataTableProps<Row>) {
  return (
    // `relative` keeps screen-reader text from widening the page.
    <div className="relative overflow-x-auto">
      <table className="w-full border-collapse text-sm">
        <caption className="sr-only">{caption}</caption>
        <thead>
          <tr className="border-b border-line">
            {columns.map(({ id, header, align, quiet }) => (
              <th
                key={id}
                scope="col"
                className={cx(
                  'px-3 py-2 text-xs font-medium whitespace-nowrap text-faint first:ps-4 last:pe-4',
                  align === 'end' ? 'text-end' : 'text-start',
                )}
              >
                {quiet ? <span className="sr-only">{header}</span> : header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowId(row)} {...rowProps(row, onOpen)} className={cx(ROW, 'border-b border-line last:border-0')}>
              {columns.map(({ id, cell, align }) => (
                <td
                  key={id}
                  className={cx(
                    'h-10 px-3 py-1 align-middle first:ps-4 last:pe-4',
                    align === 'end' && 'figures text-end',
                  )}
                >
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
        {total !== undefined && (
          <tfoot>
            <tr className="border-t border-edge font-semibold">
              {columns.map(({ id, cell, align }) => (
                <td key={id} className={cx('px-3 py-2 first:ps-4 last:pe-4', align === 'end' && 'figures text-end')}>
                  {cell(total)}
                </td>
              ))}
            </tr>
          </tfoot>
        )}
      </table>
    </div>
  )
}

function Cards<Row>({ caption, columns, rows, rowId, onOpen, total }: DataTableProps<Row>) {
  return (
    <ul aria-label={caption} className="divide-y divide-line text-sm">
      {rows.map((row) => (
        <li key={rowId(row)} {...rowProps(row, onOpen)} className={cx(ROW, CARD)}>
          <Card columns={columns} row={row} />
        </li>
      ))}
      {total !== undefined && (
        <li className={cx(CARD, 'bg-sunken')}>
          <Card columns={columns} row={total} />
        </li>
      )}
    </ul>
  )
}

const CARD = 'grid grid-cols-1 gap-1.5 px-4 py-3'

function Card<Row>({ columns, row }: Pick<DataTableProps<Row>, 'columns'> & { row: Row }) {
  const placed = (place: Column<Row>['narrow']) => columns.filter((column) => column.narrow === place)
  return (
    <>
      <div className="flex items-start justify-between gap-3">
        <div className="min-w-0 font-medium break-words">
          {placed('title').map(({ id, cell }) => (
            <div key={id}>{cell(row)}</div>
          ))}
        </div>
        <div className="flex shrink-0 items-center gap-2">
          {placed('corner').map(({ id, cell }) => (
            <div key={id}>{cell(row)}</div>
          ))}
        </div>
      </div>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-0.5">
        {placed(undefined)
          .map(({ id, header, cell }) => ({ id, header, shown: cell(row) }))
          .filter(({ shown }) => !isNothing(shown))
          .map(({ id, header, shown }) => (
            <div key={id} className="contents">
              <dt className="text-faint">{header}</dt>
              <dd className="min-w-0 text-end break-words">{shown}</dd>
            </div>
          ))}
      </dl>
    </>
  )
}

/** An empty cell needs no line. */
const isNothing = (shown: ReactNode): boolean =>
  shown === null || shown === undefined || shown === false || shown === ''

const ROW = 'hover:bg-hover/60 focus-visible:bg-hover focus-visible:outline-offset-[-2px]'

/** Rows take the focus from j and k, not from Tab, which stops at their links and buttons. */
function rowProps<Row>(row: Row, onOpen: ((row: Row) => void) | undefined) {
  const own = (event: { target: EventTarget }) =>
    event.target instanceof Element &&
    event.target.closest('a, button, input, select, label, dialog, [role="menu"], [role="dialog"]') === null
  return {
    tabIndex: -1,
    'data-row': '',
    onClick: (event: MouseEvent) => {
      if (own(event) && getSelection()?.isCollapsed !== false) onOpen?.(row)
    },
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key === 'Enter' && event.target === event.currentTarget) onOpen?.(row)
    },
  }
}

/** Two values on one line of a cell, the second one smaller. */
interface PairedProps {
  readonly first: ReactNode
  readonly second?: ReactNode
  /** Hides the second from view in tables of windows that are narrower than this. */
  readonly secondFrom?: keyof typeof SECOND_FROM
}

const SECOND_FROM = { 0: '', 1440: 'md:max-[90rem]:sr-only', 1536: 'md:max-2xl:sr-only' }

export const Paired = ({ first, second, secondFrom = 0 }: PairedProps) => (
  <div className="flex min-w-0 items-baseline gap-x-2 max-md:flex-wrap in-[.text-end]:justify-end [dd_&]:justify-end">
    <span className="min-w-0 truncate">{first}</span>
    {second !== undefined && (
      <span className={cx('min-w-0 truncate text-xs text-faint', SECOND_FROM[secondFrom])}>{second}</span>
    )}
  </div>
)
