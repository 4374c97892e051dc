import { Link, useNavigate } from '@tanstack/react-router'
import { inOpeningOrder } from '../../lib/in-opening-order.ts'
import { itemsOf } from '../../questions/question.ts'
import { useWindowRows } from '../../questions/useWindowRows.ts'
import { Badge } from '../../ui/Badge.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Money } from '../../ui/Money.tsx'
import { Answer } from '../../ui/Panel.tsx'
import { ShowMore } from '../../ui/ShowMore.tsx'
import { Time } from '../../ui/Time.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import type { WindowRow } from './plan-window.ts'
import { WindowSum } from './WindowSum.tsx'

/** The requests that make a bar, with every digit, and what they come to. */
export function WindowRows({ window, title }: { window: string; title: string }) {
  const { plan } = useWords()
  const navigate = useNavigate()
  const question = useWindowRows(window)
  const columns = useColumns()
  return (
    <section aria-label={plan.rowsOf(title)} className="-mx-4 mt-4 -mb-4 border-t border-line">
      <Answer question={question} lines={5}>
        {(data) => {
          const rows = inOpeningOrder(itemsOf(data))
          const bar = data.pages.at(-1)?.window
          return (
            <>
              {bar !== undefined && (
                <WindowSum
                  bar={bar}
                  rows={rows}
                  hasMore={question.hasNextPage}
                  onAgain={() => void question.refetch()}
                />
              )}
              {rows.length === 0 ? (
                <p className="px-4 py-6 text-center text-soft">{plan.rowsNone}</p>
              ) : (
                <DataTable
                  caption={plan.rowsOf(title)}
                  columns={columns}
                  rows={rows}
                  rowId={({ id }) => id}
                  onOpen={({ id }) => void navigate({ to: '/requests/$request', params: { request: id } })}
                />
              )}
            </>
          )
        }}
      </Answer>
      <ShowMore question={question} />
    </section>
  )
}

function useColumns(): Column<WindowRow>[] {
  const { plan } = useWords()
  return [
    {
      id: 'when',
      header: plan.when,
      narrow: 'title',
      cell: ({ id, opened_at }) => (
        <Link to="/requests/$request" params={{ request: id }} title={id} className="hover:text-accent hover:underline">
          <Time at={opened_at} as="time" />
        </Link>
      ),
    },
    { id: 'model', header: plan.model, cell: ({ model }) => <code className="wrap-anywhere">{model}</code> },
    {
      id: 'key',
      header: plan.key,
      cell: ({ key }) => (
        <Link
          to="/keys/$key"
          params={{ key: key.id }}
          title={key.name}
          className="block max-w-56 truncate hover:text-accent hover:underline"
        >
          {key.name}
        </Link>
      ),
    },
    { id: 'outcome', header: plan.outcome, cell: (row) => <RowState row={row} /> },
    { id: 'amount', header: plan.amount, align: 'end', narrow: 'corner', cell: (row) => <RowAmount row={row} /> },
  ]
}

function RowState({ row: { state, outcome } }: { row: WindowRow }) {
  const { plan, requests } = useWords()
  if (state === 'open') return <Badge tone="accent">{plan.running}</Badge>
  if (state === 'released') return <Badge>{plan.free}</Badge>
  const known: Readonly<Record<string, string>> = requests.outcomes
  return <Badge tone={outcome === 'completed' ? 'good' : 'bad'}>{known[outcome ?? ''] ?? outcome}</Badge>
}

/** Exact, because the lines add up before one's eyes. */
function RowAmount({ row: { state, hold, charge } }: { row: WindowRow }) {
  const { plan } = useWords()
  const formats = useFormats()
  if (state === 'open') return <span className="figures text-held">{plan.heldAmount(formats.exactMoney(hold))}</span>
  return <Money amount={charge ?? '0.00'} digits="exact" />
}
