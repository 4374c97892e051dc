import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { ChartColumn } from 'lucide-react'
import { shareOf } from '../../../lib/money.ts'
import { stepLabels } from '../../../lib/time-zones.ts'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import { type Served, useServed } from '../../../queries/reports.ts'
import { countedChart, paidChart } from '../../../ui/charts/chart-data.ts'
import { StackedBars } from '../../../ui/charts/StackedBars.tsx'
import { type Column, DataTable } from '../../../ui/DataTable.tsx'
import { Empty, Page, PageHeader, Panel, StatRow, StatTile } from '../../../ui/layout.tsx'
import { QueryView } from '../../../ui/QueryView.tsx'
import { Money, MoneyText, Tokens } from '../../../ui/values.tsx'
import { DayRange, type ReportRange, readRange } from './DayRange.tsx'

/** The first page of an operator. Its range is part of the address. */
export function ServerOverviewPage() {
  const { shell, reports } = useMessages()
  const formats = useFormats()
  const navigate = useNavigate()
  const range = readRange(useSearch({ strict: false }), formats.zone)
  const { from, to, zone, step } = range
  const query = useServed({ from, to, zone, step })
  return (
    <Page>
      <PageHeader title={shell.pageTitles.serverOverview} about={reports.served.about} />
      <DayRange
        range={range}
        onChange={(search) => void navigate({ to: '/operate/overview', search: givenOnly(search), resetScroll: false })}
      />
      <QueryView query={query} lines={12}>
        {(answer) => (
          <div className={query.isPlaceholderData ? 'grid gap-5 opacity-60' : 'grid gap-5'}>
            {answer.total.requests === 0 ? (
              <Panel>
                <Empty icon={ChartColumn} title={reports.served.nothing} text={reports.served.nothingText} />
              </Panel>
            ) : (
              <ServedView answer={answer} range={range} />
            )}
            <p className="text-xs text-faint" title={formats.utc(answer.as_of)}>
              {answer.complete ? reports.served.asOf(formats.precise(answer.as_of)) : reports.served.counting}
            </p>
          </div>
        )}
      </QueryView>
    </Page>
  )
}

const givenOnly = (search: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(search).filter((entry): entry is [string, string] => entry[1] !== undefined))

function ServedView({ answer, range }: { answer: Served; range: ReportRange }) {
  const { served } = useMessages().reports
  const formats = useFormats()
  return (
    <>
      <MoneyTiles answer={answer} />
      <SpeedTiles answer={answer} />
      {answer.total.unpriced > 0 && (
        <p className="rounded-lg bg-held-wash px-3 py-2 text-sm text-held">
          {formats.plural(answer.total.unpriced, served.unpriced)}
        </p>
      )}
      <Charts answer={answer} range={range} />
      <Parts
        title={served.models}
        header={served.model}
        rows={answer.models.map(({ id, served: sums }) => ({
          id: id ?? '',
          name: id,
          account: undefined,
          served: sums,
        }))}
      />
      <Parts
        title={served.accounts}
        header={served.account}
        rows={answer.accounts.map(({ id, email, served: sums }) => ({
          id: id ?? '',
          name: id === null ? null : email,
          account: id ?? undefined,
          served: sums,
        }))}
      />
    </>
  )
}

function MoneyTiles({ answer: { total } }: { answer: Served }) {
  const { served } = useMessages().reports
  const formats = useFormats()
  return (
    <StatRow>
      <StatTile
        label={served.revenue}
        value={<Money amount={total.revenue} />}
        note={<MoneyText message={served.revenueNote} amounts={[total.plan]} />}
      />
      <StatTile
        label={served.cost}
        value={<Money amount={total.cost} />}
        note={<MoneyText message={served.costNote} amounts={[total.plan_cost]} />}
      />
      <StatTile
        label={served.margin}
        value={<Money amount={total.margin} />}
        note={served.marginNote(formats.percent(marginShare(total)))}
      />
    </StatRow>
  )
}

const marginShare = ({ margin, revenue }: Served['total']): number => {
  const isLoss = margin.startsWith('-')
  const share = shareOf(isLoss ? margin.slice(1) : margin, revenue)
  return isLoss ? -share : share
}

function SpeedTiles({ answer: { total, latency } }: { answer: Served }) {
  const { served, none } = useMessages().reports
  const formats = useFormats()
  const time = (ms: number | null) => (ms === null ? none : formats.duration(ms))
  return (
    <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <StatTile
        label={served.requests}
        value={<Tokens count={total.requests} />}
        note={formats.plural(total.failovers, served.failovers)}
      />
      <StatTile
        label={served.errors}
        value={<Tokens count={total.failed} />}
        note={served.errorsNote(formats.percent(total.failed / total.requests))}
      />
      {(['first', 'total'] as const).map((measure) => (
        <StatTile
          key={measure}
          label={`${served[measure]}, ${served.median}`}
          value={time(latency[measure].p50)}
          note={served.p95(time(latency[measure].p95))}
        />
      ))}
    </div>
  )
}

function Charts({ answer, range: { step, zone } }: { answer: Served; range: ReportRange }) {
  const { served } = useMessages().reports
  const formats = useFormats()
  const steps = stepLabels(answer.steps, step, { locale: formats.locale, zone })
  const sums = answer.total_steps
  const money = [
    { id: 'revenue', name: served.revenue, amounts: sums.map(({ revenue }) => revenue) },
    { id: 'plan', name: served.plan, amounts: sums.map(({ plan }) => plan) },
  ]
  const counts = [
    { id: 'succeeded', name: served.succeeded, values: sums.map(({ requests, failed }) => requests - failed) },
    { id: 'failed', name: served.failed, values: sums.map(({ failed }) => failed) },
  ]
  return (
    <div className="grid grid-cols-1 gap-5 xl:grid-cols-2">
      <Panel title={served.money}>
        <StackedBars data={paidChart({ caption: served.money, steps, series: money }, formats)} />
      </Panel>
      <Panel title={served.count}>
        <StackedBars data={countedChart({ caption: served.count, steps, series: counts }, formats)} />
      </Panel>
    </div>
  )
}

interface Part {
  readonly id: string
  /** Null: the rest. */
  readonly name: string | null
  readonly account: string | undefined
  readonly served: Served['total']
}

function Parts({ title, header, rows }: { title: string; header: string; rows: readonly Part[] }) {
  const { served, rest } = useMessages().reports
  const formats = useFormats()
  const money = (id: string, name: string, amountOf: (sums: Served['total']) => string): Column<Part> => ({
    ...{ id, header: name, align: 'end' },
    cell: (row) => <Money amount={amountOf(row.served)} digits="column" />,
  })
  const columns: Column<Part>[] = [
    {
      ...{ id: 'name', header, narrow: 'title' },
      cell: ({ name, account }) =>
        account === undefined ? (
          <span className={name === null ? 'text-faint' : 'break-all'}>{name ?? rest}</span>
        ) : (
          <Link
            to="/operate/accounts/$account"
            params={{ account }}
            className="break-all hover:text-accent hover:underline"
          >
            {name}
          </Link>
        ),
    },
    { id: 'requests', header: served.requests, align: 'end', cell: (row) => formats.count(row.served.requests) },
    { id: 'errors', header: served.errors, align: 'end', cell: (row) => formats.count(row.served.failed) },
    money('revenue', served.revenue, ({ revenue }) => revenue),
    money('plan', served.plan, ({ plan }) => plan),
    money('cost', served.cost, ({ cost }) => cost),
    money('margin', served.margin, ({ margin }) => margin),
  ]
  return (
    <Panel title={title} padding="flush">
      <DataTable caption={title} columns={columns} rows={rows} rowId={({ id }) => id} />
    </Panel>
  )
}
