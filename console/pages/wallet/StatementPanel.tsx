import { useNavigate, useSearch } from '@tanstack/react-router'
import { Download, ReceiptText, SearchX, X } from 'lucide-react'
import type { ReactNode } from 'react'
import { useDownload } from '../../queries/download.ts'
import { useStatement } from '../../queries/money.ts'
import { itemsOf } from '../../queries/query.ts'
import { QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { Button } from '../../ui/Button.tsx'
import { choicesOf } from '../../ui/choices.ts'
import { Empty } from '../../ui/Empty.tsx'
import { Field } from '../../ui/Field.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { Select } from '../../ui/Select.tsx'
import { TextInput } from '../../ui/TextInput.tsx'
import { READ, useIsRead } from '../../ui/useIsRead.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { StatementTable } from './StatementTable.tsx'
import { filterQuery, MOVEMENT_KINDS, readFilters, type StatementFilters } from './statement-filters.ts'

/** Every movement of the wallet, newest first. The filters stand in the address, and the file has what they let through. */
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
  const isFiltered = Object.keys(filters).length > 0
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
      {Object.keys(filters).length > 0 && (
        <Button tone="quiet" className="min-h-9" onClick={() => onChange({})}>
          <X aria-hidden="true" />
          {wallet.clear}
        </Button>
      )}
    </div>
  )
}
