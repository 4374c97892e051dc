import { shareOf } from '../../lib/money.ts'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Money } from '../../ui/Money.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { Time } from '../../ui/Time.tsx'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { RowsButton, useOpenWindow, WindowRows } from './WindowRows.tsx'
import type { Plan } from './window-sums.ts'

type Past = Plan['past'][number]

/** Windows that are over or that no plan has now, and what was used of them; the rows of one of them below. */
export function PastWindows({ past }: { past: readonly Past[] }) {
  const { plan } = useMessages()
  const formats = useFormats()
  const { open } = useOpenWindow()
  const columns = useColumns()
  const shown = past.find(({ id }) => id === open)
  return (
    <Panel title={plan.past} about={plan.pastAbout} padding="flush">
      <DataTable caption={plan.past} columns={columns} rows={past} rowId={({ id }) => id} />
      {shown !== undefined && (
        <div className="px-4 pb-3">
          <WindowRows key={shown.id} window={shown.id} title={formats.window(shown.name)} />
        </div>
      )}
    </Panel>
  )
}

function useColumns(): Column<Past>[] {
  const { plan, common } = useMessages()
  const formats = useFormats()
  const { open, toggle } = useOpenWindow()
  const nameOf = ({ name }: Past) => formats.window(name)
  return [
    { id: 'name', header: plan.window, narrow: 'title', cell: nameOf },
    { id: 'start', header: plan.began, cell: ({ start }) => start !== null && <Time at={start} as="time" /> },
    { id: 'end', header: plan.ends, cell: ({ end }) => end !== null && <Time at={end} as="time" /> },
    { id: 'limit', header: plan.allowance, align: 'end', cell: ({ limit }) => <Money amount={limit} /> },
    { id: 'used', header: plan.used, align: 'end', cell: ({ used }) => <Money amount={used} /> },
    {
      id: 'share',
      header: plan.share,
      align: 'end',
      cell: ({ used, limit }) => shareText(shareOf(used, limit), formats.percent),
    },
    {
      id: 'rows',
      header: common.actions,
      quiet: true,
      align: 'end',
      narrow: 'corner',
      cell: (past) => <RowsButton label={nameOf(past)} isOpen={open === past.id} onToggle={() => toggle(past.id)} />,
    },
  ]
}

/** What is not nothing is never told as nothing. */
const shareText = (share: number, percent: (share: number) => string): string =>
  share > 0 && share < 0.005 ? `< ${percent(0.01)}` : percent(share)
