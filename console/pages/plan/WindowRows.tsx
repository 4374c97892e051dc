import { useNavigate, useSearch } from '@tanstack/react-router'
import { ChevronDown, ChevronUp, CircleCheck, Sigma } from 'lucide-react'
import { useWindowRows } from '../../queries/money.ts'
import { itemsOf } from '../../queries/query.ts'
import { QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { Button } from '../../ui/Button.tsx'
import { Money } from '../../ui/Money.tsx'
import { useIsRead } from '../../ui/useIsRead.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { inOpeningOrder } from '../requests/list/merge-requests.ts'
import { RequestTable } from '../requests/list/RequestTable.tsx'
import { type PlanWindow, type WindowRow, windowSums } from './window-sums.ts'

const BESIDE_THE_POINT = ['tokens', 'timing'] as const

/** The requests that make a bar, with every digit, and what they come to. */
export function WindowRows({ window, title }: { window: string; title: string }) {
  const { plan } = useMessages()
  const { isRead, handlers } = useIsRead({ scrolling: 'is-free' })
  const query = useWindowRows(window, { still: isRead })
  return (
    <section aria-label={plan.rowsOf(title)} {...handlers} className="-mx-4 mt-4 -mb-4 border-t border-line">
      <QueryView query={query} lines={5}>
        {(data) => {
          const rows = inOpeningOrder(itemsOf(data))
          const bar = data.pages.at(-1)?.window
          return (
            <>
              {bar !== undefined && (
                <WindowSum
                  bar={bar}
                  rows={rows}
                  hasMore={query.hasNextPage}
                  onAgain={() => void query.refetch()}
                />
              )}
              {rows.length === 0 ? (
                <p className="px-4 py-6 text-center text-soft">{plan.rowsNone}</p>
              ) : (
                <RequestTable caption={plan.rowsOf(title)} rows={rows} without={BESIDE_THE_POINT} digits="exact" />
              )}
            </>
          )
        }}
      </QueryView>
      <ShowMore query={query} />
    </section>
  )
}

interface WindowSumProps {
  /** As it stood when the rows were read. */
  readonly bar: PlanWindow
  readonly rows: readonly WindowRow[]
  readonly hasMore: boolean
  readonly onAgain: () => void
}

/** The rows added up, beside what the bar shows, so that nobody has to believe it. */
function WindowSum({ bar, rows, hasMore, onAgain }: WindowSumProps) {
  const { plan } = useMessages()
  const formats = useFormats()
  const sums = windowSums(bar, rows, { hasMore })
  const agrees = sums.verdict === 'agrees'
  const Icon = agrees ? CircleCheck : Sigma
  const text = sums.verdict === 'moved' ? plan.moved : formats.plural(rows.length, agrees ? plan.agrees : plan.partly)
  return (
    <div className="grid gap-2 border-b border-line bg-sunken/60 px-4 py-3 text-sm">
      <p className="flex items-start gap-2">
        <Icon aria-hidden="true" className={`mt-0.5 size-4 shrink-0 ${agrees ? 'text-good' : 'text-faint'}`} />
        <span className="flex-1">{text}</span>
        {sums.verdict === 'moved' && <Button onClick={onAgain}>{plan.again}</Button>}
      </p>
      <dl className="grid grid-cols-[auto_1fr_auto] gap-x-4 gap-y-0.5 sm:max-w-md">
        <SumLine name={plan.sumUsed} sum={sums.used} bar={bar.used} />
        <SumLine name={plan.sumHeld} sum={sums.held} bar={bar.held} />
      </dl>
    </div>
  )
}

function SumLine({ name, sum, bar }: { name: string; sum: string; bar: string }) {
  const { plan } = useMessages()
  return (
    <div className="contents">
      <dt className="text-faint">{name}</dt>
      <dd className="text-end">
        <Money amount={sum} digits="exact" />
      </dd>
      <dd className="text-faint">
        {plan.bar} <Money amount={bar} digits="exact" />
      </dd>
    </div>
  )
}

interface RowsButtonProps {
  readonly label: string
  readonly isOpen: boolean
  readonly onToggle: () => void
}

/** Opens and closes the rows that a bar is made of. */
export function RowsButton({ label, isOpen, onToggle }: RowsButtonProps) {
  const { plan } = useMessages()
  const Icon = isOpen ? ChevronUp : ChevronDown
  return (
    <Button
      aria-expanded={isOpen}
      aria-label={`${isOpen ? plan.hideRows : plan.showRows}: ${label}`}
      onClick={onToggle}
    >
      <Icon aria-hidden="true" />
      {isOpen ? plan.hideRows : plan.showRows}
    </Button>
  )
}

/** The window whose rows are shown. It stands in the address, so that a bar can be shown to somebody else. */
export function useOpenWindow() {
  const navigate = useNavigate()
  const { window: open } = useSearch({ strict: false })
  return {
    open,
    toggle: (id: string) =>
      void navigate({
        to: '/plan',
        search: open === id ? {} : { window: id },
        replace: true,
        resetScroll: false,
      }),
  }
}
