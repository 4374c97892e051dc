import { useState } from 'react'
import { sumMoney } from '../../lib/money.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { Button } from '../../ui/Button.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Panel, StatRow, StatTile } from '../../ui/layout.tsx'
import { inputTokens, Money, MoneyText, Tokens } from '../../ui/values.tsx'
import { type UsageAnswer, useSeriesName } from './UsageChart.tsx'
import type { Grouping } from './usage-filter.ts'
import { sumUsed, type Used } from './usage-series.ts'

export function UsageTotals({ total }: { total: Used }) {
  const { totals: messages } = useMessages().usage
  const formats = useFormats()
  const input = inputTokens(total)
  return (
    <StatRow>
      <StatTile
        label={messages.cost}
        value={<Money amount={sumMoney(total.wallet, total.plan)} />}
        note={<MoneyText message={messages.costNote} amounts={[total.wallet, total.plan]} />}
      />
      <StatTile
        label={messages.requests}
        value={<Tokens count={total.requests} />}
        note={formats.plural(total.failed, messages.requestsNote)}
      />
      <StatTile
        label={messages.input}
        value={<Tokens count={input} />}
        note={messages.inputNote(formats.percent(input === 0 ? 0 : total.cached_input / input))}
      />
      <StatTile
        label={messages.output}
        value={<Tokens count={total.output} />}
        note={messages.outputNote(formats.short(total.reasoning))}
      />
    </StatRow>
  )
}

interface UsageTableProps {
  readonly answer: UsageAnswer
  readonly by: Grouping
  readonly onDrill: (id: string) => void
}

interface Row {
  readonly id: string
  readonly name: string
  readonly used: Used
  /** Undefined: a row that cannot be filtered by. */
  readonly drill: string | undefined
}

const ROWS_AT_ONCE = 50

/** The totals are the sums of the rows. */
export function UsageTable({ answer, by, onDrill }: UsageTableProps) {
  const { usage } = useMessages()
  const nameOf = useSeriesName(by)
  const [most, setMost] = useState(ROWS_AT_ONCE)
  const columns = useUsageColumns(by, onDrill)
  const rows = answer.table.map(
    ({ id, name, used }): Row => ({ id: id ?? '', name: nameOf({ id, name }), used, drill: id ?? undefined }),
  )
  const total: Row = {
    ...{ id: 'total', name: usage.total, drill: undefined },
    used: sumUsed(rows.map(({ used }) => used)),
  }
  return (
    <Panel title={usage.table} padding="flush">
      <DataTable
        caption={usage.table}
        columns={columns}
        rows={rows.slice(0, most)}
        rowId={({ id }) => id}
        total={total}
        onOpen={({ drill }) => {
          if (drill !== undefined) onDrill(drill)
        }}
      />
      {rows.length > most && (
        <div className="flex justify-center border-t border-line p-3">
          <Button onClick={() => setMost(most + ROWS_AT_ONCE)}>{usage.more}</Button>
        </div>
      )}
    </Panel>
  )
}

function useUsageColumns(by: Grouping, onDrill: (id: string) => void): Column<Row>[] {
  const { columns: messages } = useMessages().usage
  const formats = useFormats()
  const counted = (id: Exclude<keyof Used, 'wallet' | 'plan'>, header: string, narrow?: 'left-out'): Column<Row> => ({
    ...{ id, header, align: 'end' },
    ...(narrow !== undefined && { narrow }),
    cell: ({ used }) => <span className={used[id] === 0 ? 'text-faint' : undefined}>{formats.count(used[id])}</span>,
  })
  return [
    {
      ...{ id: 'name', header: messages[by], narrow: 'title' },
      cell: ({ name, drill }) =>
        drill === undefined ? (
          name
        ) : (
          <button
            type="button"
            title={name}
            onClick={() => onDrill(drill)}
            className="max-w-44 truncate text-start hover:text-accent hover:underline"
          >
            {name}
          </button>
        ),
    },
    counted('requests', messages.requests),
    counted('failed', messages.failed),
    counted('uncached_input', messages.input),
    counted('cached_input', messages.cached, 'left-out'),
    counted('output', messages.output),
    counted('reasoning', messages.reasoning, 'left-out'),
    {
      id: 'wallet',
      header: messages.wallet,
      align: 'end',
      cell: ({ used }) => <Money amount={used.wallet} digits="column" />,
    },
    {
      id: 'plan',
      header: messages.plan,
      align: 'end',
      cell: ({ used }) => <Money amount={used.plan} digits="column" />,
    },
  ]
}
