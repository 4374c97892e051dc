import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Download, ReceiptText, SearchX, X } from 'lucide-react'
import type { ReactNode } from 'react'
import type { AnswerOf, QueryOf } from '../../../src/contract/console-api.ts'
import { isDay, rangeOfDays } from '../../lib/time-zones.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useStatement } from '../../queries/account.ts'
import { useDownload } from '../../queries/mutations.ts'
import { itemsOf } from '../../queries/query.ts'
import { Button } from '../../ui/Button.tsx'
import { type Column, DataTable, Paired } from '../../ui/DataTable.tsx'
import { Field } from '../../ui/Form.tsx'
import { choicesOf, Segmented, Select, TextInput } from '../../ui/inputs.tsx'
import { Badge, type BadgeTone, Empty, Panel } from '../../ui/layout.tsx'
import { QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { READ, useIsRead } from '../../ui/useHeldRows.ts'
import { Money, Time } from '../../ui/values.tsx'

/** The filters are part of the address and apply to the file too. */
export function StatementPanel({ fill }: { fill: ReactNode }) {
  const { wallet } = useMessages()
  const { zone } = useFormats()
  const navigate = useNavigate()
  const filters = readFilters(useSearch({ strict: false }))
  const search = filterQuery(filters, zone)
  const { isRead, handlers } = useIsRead({ scrolling: 'is-free' })
  const query = useStatement(search, { still: isRead })
  const download = useDownload('GET /wallet/statement.csv')
  const change = (next: StatementFilters) => void navigate({ to: '/wallet', search: { ...next }, replace: true })
  const isFiltered = isNarrowed(filters)
  return (
    <Panel
      title={wallet.statement}
      padding="flush"
      actions={
        <Button busy={download.isPending} onClick={() => download.mutate(search)}>
          <Download aria-hidden="true" />
          {wallet.download}
        </Button>
      }
    >
      <StatementFilterBar filters={filters} onChange={change} />
      <QueryView query={query} lines={8}>
        {(data) => {
          const items = itemsOf(data)
          if (items.length > 0) {
            return (
              <div {...handlers} {...READ}>
                <StatementTable movements={items} />
              </div>
            )
          }
          if (!isFiltered) return <Empty icon={ReceiptText} title={wallet.none} text={wallet.noneText} action={fill} />
          const clear = <Button onClick={() => change({})}>{wallet.clear}</Button>
          return <Empty icon={SearchX} title={wallet.notFound} text={wallet.notFoundText} action={clear} />
        }}
      </QueryView>
      <ShowMore query={query} />
    </Panel>
  )
}

interface StatementFilterBarProps {
  readonly filters: StatementFilters
  readonly onChange: (filters: StatementFilters) => void
}

function StatementFilterBar({ filters, onChange }: StatementFilterBarProps) {
  const { wallet } = useMessages()
  const { zone } = useFormats()
  const without = (name: keyof StatementFilters): StatementFilters => {
    const { [name]: _, ...rest } = filters
    return rest
  }
  const setDay = (name: 'from' | 'to', day: string) =>
    onChange(day === '' ? without(name) : { ...filters, [name]: day })
  return (
    <div className="flex flex-wrap items-end gap-3 px-4 pt-1 pb-3">
      <Field label={wallet.kind}>
        {(control) => (
          <Select
            {...control}
            value={filters.kind ?? 'all'}
            options={[{ value: 'all', label: wallet.allKinds }, ...choicesOf(MOVEMENT_KINDS, wallet.kinds)]}
            onPick={(kind) => onChange(kind === 'all' ? without('kind') : { ...filters, kind })}
          />
        )}
      </Field>
      {(['from', 'to'] as const).map((name) => (
        <Field key={name} label={wallet[name]}>
          {(control) => (
            <TextInput
              {...control}
              type="date"
              title={wallet.zone(zone)}
              value={filters[name] ?? ''}
              onChange={(event) => setDay(name, event.target.value)}
            />
          )}
        </Field>
      ))}
      <Field label={wallet.charges}>
        {() => (
          <Segmented
            label={wallet.charges}
            value={filters.each ?? 'no'}
            options={choicesOf(['no', 'yes'], wallet.chargesShown)}
            onPick={(each) => onChange(each === 'yes' ? { ...filters, each } : without('each'))}
          />
        )}
      </Field>
      {isNarrowed(filters) && (
        <Button tone="quiet" className="min-h-9" onClick={() => onChange({})}>
          <X aria-hidden="true" />
          {wallet.clear}
        </Button>
      )}
    </div>
  )
}

type Movement = AnswerOf<'GET /wallet/statement'>['items'][number]

const TONES: Readonly<Record<Movement['kind'], BadgeTone>> = {
  charge: 'plain',
  charges: 'plain',
  credit: 'good',
  refund: 'good',
  adjustment: 'held',
}

function StatementTable({ movements }: { movements: readonly Movement[] }) {
  const { wallet } = useMessages()
  const navigate = useNavigate()
  return (
    <DataTable
      caption={wallet.statement}
      columns={useColumns()}
      rows={movements}
      rowId={({ movement }) => String(movement)}
      onOpen={({ kind, ref }) => {
        if (kind === 'charge') void navigate({ to: '/requests/$request', params: { request: ref } })
        if (kind === 'charges') void navigate({ to: '/requests', search: requestsOfDay(ref) })
      }}
    />
  )
}

function useColumns(): Column<Movement>[] {
  const { wallet } = useMessages()
  return [
    { id: 'when', header: wallet.when, cell: (line) => <When line={line} /> },
    { id: 'kind', header: wallet.kind, cell: ({ kind }) => <Badge tone={TONES[kind]}>{wallet.kinds[kind]}</Badge> },
    { id: 'cause', header: wallet.cause, narrow: 'title', cell: (movement) => <Cause movement={movement} /> },
    {
      id: 'amount',
      header: wallet.moved,
      align: 'end',
      narrow: 'corner',
      cell: ({ amount }) => <Money amount={amount} as="moves" digits="column" />,
    },
    {
      id: 'after',
      header: wallet.after,
      align: 'end',
      cell: ({ balance }) =>
        balance === null ? (
          <span className="text-faint">{wallet.unknownBalance}</span>
        ) : (
          <Money amount={balance} digits="column" />
        ),
    },
  ]
}

/** The requests that the wallet paid on a day. */
const requestsOfDay = (day: string) => ({ kind: 'wallet', from: day, to: day })

/** With the number by which a request refers to its entry. */
function When({ line: { at, movement, kind } }: { line: Movement }) {
  const { wallet } = useMessages()
  if (kind === 'charges') return <Time at={at} as="day" />
  return (
    <Paired
      first={<Time at={at} as="time" />}
      second={<span className="figures">{wallet.line(String(movement))}</span>}
    />
  )
}

/** A charge links to its request, and those of a day to theirs. Other entries show their reason and reference. */
function Cause({ movement: { kind, ref, reason, model, key, requests } }: { movement: Movement }) {
  const { wallet } = useMessages()
  const formats = useFormats()
  if (kind === 'charges') {
    return (
      <Link to="/requests" search={requestsOfDay(ref)} className="min-h-6 font-medium text-accent hover:underline">
        {wallet.requests(formats.count(requests ?? 0))}
      </Link>
    )
  }
  if (kind !== 'charge') {
    return (
      <div className="grid max-w-96">
        <span className="wrap-anywhere">{reason}</span>
        <code className="text-xs font-normal wrap-anywhere text-faint">{ref}</code>
      </div>
    )
  }
  return (
    <div className="flex max-w-96 items-baseline gap-x-2 max-md:flex-wrap">
      <Link
        to="/requests/$request"
        params={{ request: ref }}
        title={ref}
        className="min-h-6 font-medium wrap-anywhere text-accent hover:underline"
      >
        {model ?? wallet.request}
      </Link>
      {key !== null && (
        <Link
          to="/keys/$key"
          params={{ key: key.id }}
          title={key.name}
          className="block w-fit max-w-full truncate text-xs leading-6 font-normal text-faint hover:text-accent hover:underline"
        >
          {wallet.byKey(key.name)}
        </Link>
      )}
    </div>
  )
}

const MOVEMENT_KINDS = ['charge', 'credit', 'refund', 'adjustment'] as const
type MovementKind = (typeof MOVEMENT_KINDS)[number]

/** Both days are inclusive. */
interface StatementFilters {
  readonly kind?: MovementKind
  readonly from?: string
  readonly to?: string
  /** Each charge is a row, instead of those of a day. */
  readonly each?: 'yes'
}

const isNarrowed = ({ kind, from, to }: StatementFilters): boolean => (kind ?? from ?? to) !== undefined

type Search = Readonly<Record<string, string | undefined>>

/** Ignores invalid values in the address and swaps reversed days. */
export function readFilters({ kind, from, to, each }: Search): StatementFilters {
  const known = MOVEMENT_KINDS.find((each) => each === kind)
  const [first, last] = isDay(from) && isDay(to) && to < from ? [to, from] : [from, to]
  return {
    ...(known !== undefined && { kind: known }),
    ...(isDay(first) && { from: first }),
    ...(isDay(last) && { to: last }),
    ...(each === 'yes' && { each }),
  }
}

/** Days are those of the viewer's zone. */
export const filterQuery = (
  { kind, each, ...days }: StatementFilters,
  zone: string,
): QueryOf<'GET /wallet/statement.csv'> => ({
  ...(kind !== undefined && { kind }),
  ...rangeOfDays(days, zone),
  ...(each === undefined && { by: 'day', zone }),
})
