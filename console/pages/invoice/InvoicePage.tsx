import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { Download, Printer, ReceiptText } from 'lucide-react'
import type { ReactNode } from 'react'
import { now } from '../../lib/clock.ts'
import { isZero } from '../../lib/money.ts'
import { dayIn } from '../../lib/time-zones.ts'
import { messageFor, useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useDownload } from '../../queries/mutations.ts'
import { type Invoice, useInvoice, useInvoiceOf } from '../../queries/reports.ts'
import { Button } from '../../ui/Button.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Select } from '../../ui/inputs.tsx'
import { Empty, Facts, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { type QueryState, QueryView } from '../../ui/QueryView.tsx'
import { Money, Time } from '../../ui/values.tsx'

/** The invoice of the own account. */
export function InvoicePage() {
  const { month, zone } = useMonth()
  const query = useInvoice({ month, zone })
  const download = useDownload('GET /invoice.csv')
  return (
    <InvoiceView
      query={query}
      month={month}
      isBusy={download.isPending}
      onDownload={() => download.mutate({ month, zone })}
    />
  )
}

/** The invoice of any account, for an operator. */
export function OperatorInvoicePage() {
  const { account = '' } = useParams({ strict: false })
  const { month, zone } = useMonth()
  const query = useInvoiceOf(account, { month, zone })
  const download = useDownload('GET /operate/accounts/:account/invoice.csv', { account })
  return (
    <InvoiceView
      query={query}
      month={month}
      isBusy={download.isPending}
      onDownload={() => download.mutate({ month, zone })}
      above={
        <Link to="/operate/accounts/$account" params={{ account }} className="hover:text-ink hover:underline">
          {query.data?.account.email ?? account}
        </Link>
      }
    />
  )
}

/** The month of the address, or the one that it is in the person's zone. */
function useMonth() {
  const { zone } = useFormats()
  const { month } = useSearch({ strict: false }) as { month?: string }
  return { zone, month: month !== undefined && /^\d{4}-\d\d$/.test(month) ? month : dayIn(zone, now()).slice(0, 7) }
}

interface InvoiceViewProps {
  readonly query: QueryState<Invoice>
  readonly month: string
  readonly isBusy: boolean
  readonly onDownload: () => void
  readonly above?: ReactNode
}

function InvoiceView({ query, month, isBusy, onDownload, above }: InvoiceViewProps) {
  const { shell, reports } = useMessages()
  const { invoice } = reports
  return (
    <Page>
      <PageHeader
        title={shell.pageTitles.invoice}
        about={above ?? invoice.about}
        actions={
          <span className="flex flex-wrap items-center gap-2 print:hidden">
            <MonthSelect month={month} />
            <Button busy={isBusy} onClick={onDownload}>
              <Download aria-hidden="true" />
              {reports.csv}
            </Button>
            <Button onClick={() => globalThis.print()}>
              <Printer aria-hidden="true" />
              {invoice.print}
            </Button>
          </span>
        }
      />
      <QueryView query={query} lines={10}>
        {(data) => <InvoiceContent data={data} />}
      </QueryView>
    </Page>
  )
}

const MONTHS = 24

function MonthSelect({ month }: { month: string }) {
  const { invoice } = useMessages().reports
  const { zone, locale } = useFormats()
  const navigate = useNavigate()
  const name = new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric', timeZone: 'UTC' })
  const [year = 0, number = 0] = dayIn(zone, now()).split('-').map(Number)
  const last = Array.from({ length: MONTHS }, (_, back) =>
    new Date(Date.UTC(year, number - 1 - back, 1)).toISOString().slice(0, 7),
  )
  const options = [...new Set([...last, month])].map((value) => ({
    value,
    label: name.format(new Date(`${value}-01T00:00:00Z`)),
  }))
  return (
    <Select
      aria-label={invoice.month}
      className="w-44"
      value={month}
      options={options}
      onPick={(picked) => void navigate({ to: '.', search: { month: picked }, replace: true })}
    />
  )
}

function InvoiceContent({ data }: { data: Invoice }) {
  const { invoice } = useMessages().reports
  const formats = useFormats()
  const exact = (amount: string) => <Money amount={amount} digits="exact" />
  const { totals } = data
  return (
    <>
      <Panel>
        <div className="grid max-w-3xl gap-x-12 gap-y-4 md:grid-cols-2">
          <Facts
            facts={[
              { name: invoice.for, value: data.account.email },
              { name: invoice.period, value: invoice.days(data.first_day, data.last_day, data.zone) },
            ]}
          />
          <Facts
            facts={[
              { name: invoice.opening, value: exact(data.opening) },
              { name: invoice.transfers, value: exact(totals.transferred) },
              { name: invoice.charges, value: exact(negated(totals.charged)) },
              { name: invoice.closing, value: <strong>{exact(data.closing)}</strong> },
            ]}
          />
        </div>
      </Panel>
      {data.transfers.length > 0 && <Transfers data={data} />}
      {data.lines.length === 0 ? (
        <Panel>
          <Empty icon={ReceiptText} title={invoice.nothing} />
        </Panel>
      ) : (
        <Lines data={data} />
      )}
      <Panel>
        <div className="grid max-w-md gap-2">
          <Facts
            facts={[
              { name: invoice.charged, value: exact(totals.charged) },
              { name: invoice.rounding, value: exact(totals.rounding) },
              { name: invoice.cents, value: <strong>{exact(totals.charged_in_cents)}</strong> },
            ]}
          />
          <p className="text-sm text-faint">{invoice.exact}</p>
          {!isZero(totals.plan) && (
            <p className="text-sm text-faint">{invoice.planNote(formats.exactMoney(totals.plan))}</p>
          )}
        </div>
      </Panel>
    </>
  )
}

const negated = (amount: string): string => (isZero(amount) ? amount : `-${amount}`)

function Transfers({ data }: { data: Invoice }) {
  const { invoice } = useMessages().reports
  const columns: Column<Invoice['transfers'][number]>[] = [
    { id: 'kind', header: invoice.transfers, narrow: 'title', cell: ({ kind }) => messageFor(invoice.kinds, kind) },
    { id: 'at', header: invoice.day, narrow: 'corner', cell: ({ at }) => <Time at={at} as="day" /> },
    {
      id: 'reason',
      header: invoice.reference,
      cell: ({ reason, ref }) => <span className="wrap-anywhere">{`${reason} (${ref})`}</span>,
    },
    {
      ...{ id: 'amount', header: invoice.amount, align: 'end' },
      cell: ({ amount }) => <Money amount={amount} as="moves" digits="exact" />,
    },
  ]
  return (
    <Panel title={invoice.transfers} padding="flush">
      <DataTable
        caption={invoice.transfers}
        columns={columns}
        rows={data.transfers}
        rowId={({ movement }) => String(movement)}
      />
    </Panel>
  )
}

function Lines({ data }: { data: Invoice }) {
  const { invoice } = useMessages().reports
  const formats = useFormats()
  const total: Invoice['lines'][number] = {
    ...{ day: invoice.charged, model: '', requests: data.totals.requests },
    uncached_input: data.lines.reduce((sum, line) => sum + line.uncached_input, 0),
    cached_input: data.lines.reduce((sum, line) => sum + line.cached_input, 0),
    cache_write: data.lines.reduce((sum, line) => sum + line.cache_write, 0),
    output: data.lines.reduce((sum, line) => sum + line.output, 0),
    amount: data.totals.charged,
    plan: data.totals.plan,
  }
  const columns: Column<Invoice['lines'][number]>[] = [
    {
      id: 'day',
      header: invoice.day,
      cell: ({ day }) => <span className="whitespace-nowrap">{day}</span>,
    },
    {
      id: 'model',
      header: invoice.model,
      narrow: 'title',
      cell: ({ model }) => <span className="break-all">{model}</span>,
    },
    {
      id: 'requests',
      header: invoice.requests,
      align: 'end',
      narrow: 'left-out',
      cell: ({ requests }) => formats.count(requests),
    },
    {
      ...{ id: 'input', header: invoice.input, align: 'end', narrow: 'left-out' },
      cell: (line) => formats.count(line.uncached_input + line.cached_input + line.cache_write),
    },
    {
      id: 'output',
      header: invoice.output,
      align: 'end',
      narrow: 'left-out',
      cell: ({ output }) => formats.count(output),
    },
    {
      ...{ id: 'amount', header: invoice.amount, align: 'end', narrow: 'corner' },
      cell: ({ amount }) => <Money amount={amount} digits="exact" />,
    },
  ]
  return (
    <Panel title={invoice.charges} padding="flush">
      <DataTable
        caption={invoice.charges}
        columns={columns}
        rows={data.lines}
        rowId={({ day, model }) => `${day} ${model}`}
        total={total}
      />
    </Panel>
  )
}
