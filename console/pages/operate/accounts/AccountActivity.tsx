import { Link } from '@tanstack/react-router'
import { ArrowLeftRight, ChartColumn, Download, KeyRound, ReceiptText } from 'lucide-react'
import { useState } from 'react'
import type { AnswerOf } from '../../../../src/contract/console-api.ts'
import { now } from '../../../lib/clock.ts'
import { sumMoney } from '../../../lib/money.ts'
import { addDays, dayIn, stepLabels } from '../../../lib/time-zones.ts'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import { useDownload } from '../../../queries/mutations.ts'
import { itemsOf } from '../../../queries/query.ts'
import { useAllRequests, useKeysOf, useStatementOf, useUsageOf } from '../../../queries/reports.ts'
import { Button, buttonClass } from '../../../ui/Button.tsx'
import { paidChart } from '../../../ui/charts/chart-data.ts'
import { StackedBars } from '../../../ui/charts/StackedBars.tsx'
import { type Column, DataTable, Paired } from '../../../ui/DataTable.tsx'
import { Badge, Empty, Panel } from '../../../ui/layout.tsx'
import { QueryView, ShowMore } from '../../../ui/QueryView.tsx'
import { Tabs } from '../../../ui/Tabs.tsx'
import { Money, Time } from '../../../ui/values.tsx'
import { OperatedRequests } from '../reports/OperatedRequests.tsx'

type Tab = 'usage' | 'keys' | 'statement' | 'requests'

/** What an account has used, with which keys, and what it paid. */
export function AccountActivity({ account }: { account: string }) {
  const { account: messages } = useMessages().reports
  const [tab, setTab] = useState<Tab>('usage')
  const contents = {
    usage: <UsageTab account={account} />,
    keys: <KeysTab account={account} />,
    statement: <StatementTab account={account} />,
    requests: <RequestsTab account={account} />,
  }
  return (
    <Panel
      title={messages.activity}
      actions={
        <Link to="/operate/accounts/$account/invoice" params={{ account }} className={buttonClass('plain')}>
          <ReceiptText aria-hidden="true" />
          {messages.invoice}
        </Link>
      }
    >
      <Tabs
        label={messages.activity}
        value={tab}
        onPick={setTab}
        tabs={(['usage', 'keys', 'statement', 'requests'] as const).map((value) => ({
          ...{ value, label: messages.tabs[value] },
          content: contents[value],
        }))}
      />
    </Panel>
  )
}

const DAYS = 30

function UsageTab({ account }: { account: string }) {
  const { reports } = useMessages()
  const formats = useFormats()
  const { zone, locale } = formats
  const to = addDays(dayIn(zone, now()), 1)
  const query = { from: addDays(to, -DAYS), to, zone, step: 'day', by: 'model' } as const
  const usage = useUsageOf(account, query)
  const download = useDownload('GET /operate/accounts/:account/usage.csv', { account })
  return (
    <QueryView query={usage} lines={8}>
      {({ steps, series, total }) =>
        total.requests === 0 ? (
          <Empty icon={ChartColumn} title={reports.account.noUsage} />
        ) : (
          <div className="grid gap-3">
            <StackedBars
              data={paidChart(
                {
                  caption: reports.account.last30,
                  steps: stepLabels(steps, 'day', { locale, zone }),
                  series: [
                    ...series.slice(0, 7).map(({ id, name, steps: used }) => ({
                      ...{ id: id ?? 'rest', name: id === null ? reports.rest : name },
                      amounts: used.map(paid),
                    })),
                  ],
                },
                formats,
              )}
            />
            <div>
              <Button busy={download.isPending} onClick={() => download.mutate(query)}>
                <Download aria-hidden="true" />
                {reports.csv}
              </Button>
            </div>
          </div>
        )
      }
    </QueryView>
  )
}

type Used = AnswerOf<'GET /usage'>['total']

const paid = ({ wallet, plan }: Used): string => sumMoney(wallet, plan)

type Key = AnswerOf<'GET /operate/accounts/:account/keys'>['items'][number]

function KeysTab({ account }: { account: string }) {
  const { account: messages } = useMessages().reports
  const query = useKeysOf(account)
  const columns: Column<Key>[] = [
    {
      ...{ id: 'name', header: messages.name, narrow: 'title' },
      cell: ({ name, shown, id }) => (
        <span title={id}>
          <Paired first={<span className="font-medium">{name}</span>} second={<code>{shown}</code>} />
        </span>
      ),
    },
    {
      ...{ id: 'state', header: messages.state, narrow: 'corner' },
      cell: ({ state }) => <Badge tone={state === 'active' ? 'good' : 'plain'}>{messages.states[state]}</Badge>,
    },
    { id: 'kind', header: messages.kind, cell: ({ kind }) => messages.kinds[kind] },
    {
      ...{ id: 'used', header: messages.lastUsed },
      cell: ({ last_used_at: at }) => (at === null ? messages.never : <Time at={at} />),
    },
  ]
  return (
    <>
      <QueryView query={query}>
        {(data) => {
          const rows = itemsOf(data)
          if (rows.length === 0) return <Empty icon={KeyRound} title={messages.noKeys} />
          return <DataTable caption={messages.tabs.keys} columns={columns} rows={rows} rowId={({ id }) => id} />
        }}
      </QueryView>
      <ShowMore query={query} />
    </>
  )
}

type Movement = AnswerOf<'GET /operate/accounts/:account/statement'>['items'][number]

function StatementTab({ account }: { account: string }) {
  const { reports } = useMessages()
  const { account: messages, none } = reports
  const formats = useFormats()
  const query = useStatementOf(account, formats.zone)
  const download = useDownload('GET /operate/accounts/:account/statement.csv', { account })
  const columns: Column<Movement>[] = [
    {
      id: 'at',
      header: messages.at,
      narrow: 'corner',
      cell: ({ at, kind }) => <Time at={at} as={kind === 'charges' ? 'day' : 'time'} />,
    },
    {
      ...{ id: 'kind', header: messages.movement, narrow: 'title' },
      cell: ({ kind, reason, requests }) => (
        <Paired first={messages.movements[kind]} second={requests === null ? reason : `(${formats.count(requests)})`} />
      ),
    },
    {
      ...{ id: 'ref', header: messages.reference },
      cell: ({ kind, ref }) =>
        kind === 'charges' ? (
          <Link
            to="/operate/requests"
            search={{ account, from: ref, through: ref }}
            className="hover:text-accent hover:underline"
          >
            {messages.see}
          </Link>
        ) : (
          <span className="wrap-anywhere">{ref}</span>
        ),
    },
    {
      ...{ id: 'amount', header: messages.amount, align: 'end' },
      cell: ({ amount }) => <Money amount={amount} as="moves" digits="exact" />,
    },
    {
      ...{ id: 'balance', header: messages.balance, align: 'end' },
      cell: ({ balance }) => (balance === null ? none : <Money amount={balance} digits="exact" />),
    },
  ]
  return (
    <>
      <QueryView query={query}>
        {(data) => {
          const rows = itemsOf(data)
          if (rows.length === 0) return <Empty icon={ReceiptText} title={messages.noStatement} />
          return (
            <div className="grid gap-3">
              <div>
                <Button busy={download.isPending} onClick={() => download.mutate({})}>
                  <Download aria-hidden="true" />
                  {reports.csv}
                </Button>
              </div>
              <DataTable
                caption={messages.tabs.statement}
                columns={columns}
                rows={rows}
                rowId={({ movement }) => String(movement)}
              />
            </div>
          )
        }}
      </QueryView>
      <ShowMore query={query} />
    </>
  )
}

const LATEST = 20

function RequestsTab({ account }: { account: string }) {
  const { account: messages, all } = useMessages().reports
  const query = useAllRequests({ account, limit: LATEST })
  return (
    <QueryView query={query}>
      {(data) => {
        const rows = itemsOf(data)
        if (rows.length === 0) return <Empty icon={ArrowLeftRight} title={all.nothing} />
        return (
          <>
            <OperatedRequests caption={messages.tabs.requests} rows={rows} of="one" />
            <div className="pt-3">
              <Link to="/operate/requests" search={{ account }} className={buttonClass('plain')}>
                {messages.see}
              </Link>
            </div>
          </>
        )
      }}
    </QueryView>
  )
}
