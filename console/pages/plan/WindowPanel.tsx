import { useNavigate, useSearch } from '@tanstack/react-router'
import { ChevronDown, ChevronUp, CircleCheck, Hourglass, Sigma } from 'lucide-react'
import type { ReactNode } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { useNow } from '../../lib/clock.ts'
import { cx } from '../../lib/cx.ts'
import { nanoOf, sumMoney } from '../../lib/money.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useWindowRows } from '../../queries/account.ts'
import { itemsOf } from '../../queries/query.ts'
import { Button } from '../../ui/Button.tsx'
import { Panel } from '../../ui/layout.tsx'
import { QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { useIsRead } from '../../ui/useHeldRows.ts'
import { Meter, Money, MoneyText, Time, TimeText } from '../../ui/values.tsx'
import { inOpeningOrder } from '../requests/merge-requests.ts'
import { RequestTable } from '../requests/RequestTable.tsx'

interface WindowPanelProps {
  readonly window: PlanWindow
  readonly billingDay: number | null
}

export function WindowPanel({ window, billingDay }: WindowPanelProps) {
  const { plan } = useMessages()
  const formats = useFormats()
  const { open, toggle } = useOpenWindow()
  const { id, name, limit, used, held, left } = window
  const title = formats.window(name)
  const note =
    name === 'week' ? plan.weekNote : name === 'month' ? plan.monthNote(String(billingDay ?? 1)) : plan.spanNote
  return (
    <Panel
      title={title}
      about={note}
      actions={id !== null && <RowsButton label={title} isOpen={open === id} onToggle={() => toggle(id)} />}
    >
      <div className="grid gap-3">
        <div className="flex flex-wrap items-baseline justify-between gap-x-6 gap-y-1">
          <p className="flex flex-wrap items-baseline gap-x-1.5">
            <span className="text-2xl leading-tight font-semibold tracking-tight">
              <Money amount={left} />
            </span>
            <MoneyText message={plan.leftOf} amounts={[limit]} className="figures text-soft" />
          </p>
          {window.end === null ? (
            <p className="font-medium text-soft">{plan.notOpened}</p>
          ) : (
            <Countdown end={window.end} />
          )}
        </div>
        <Meter label={title} used={used} held={held} limit={limit} left={left} />
        <WindowFull window={window} />
        {window.opened ? <WindowFacts window={window} /> : <p className="text-sm text-soft">{plan.notOpenedText}</p>}
      </div>
      {id !== null && open === id && <WindowRows window={id} title={title} />}
    </Panel>
  )
}

function WindowFacts({ window: { used, held, left, start, end, requests } }: { window: PlanWindow }) {
  const { plan } = useMessages()
  const formats = useFormats()
  return (
    <dl className="grid grid-cols-2 gap-x-6 gap-y-2 text-sm sm:grid-cols-3 lg:grid-cols-[repeat(4,minmax(0,1fr))_auto_auto]">
      <Fact name={plan.used} swatch="bg-accent">
        <Money amount={used} />
      </Fact>
      <Fact name={plan.held} swatch="bg-held">
        <Money amount={held} />
      </Fact>
      <Fact name={plan.left}>
        <Money amount={left} />
      </Fact>
      {requests !== null && (
        <Fact name={plan.requests}>
          <span className="figures">{formats.count(requests)}</span>
        </Fact>
      )}
      {start !== null && (
        <Fact name={plan.began} wide>
          <Time at={start} as="time" />
        </Fact>
      )}
      {end !== null && (
        <Fact name={plan.ends} wide>
          <Time at={end} as="time" />
        </Fact>
      )}
    </dl>
  )
}

interface FactProps {
  readonly name: string
  readonly swatch?: string
  /** On a narrow screen it takes a full row. */
  readonly wide?: boolean
  readonly children: ReactNode
}

const Fact = ({ name, swatch, wide = false, children }: FactProps) => (
  <div className={cx('grid content-start gap-0.5', wide && 'max-sm:col-span-2')}>
    <dt className="flex items-baseline gap-1.5 text-faint">
      {swatch !== undefined && <span aria-hidden="true" className={`size-2 shrink-0 rounded-full ${swatch}`} />}
      {name}
    </dt>
    <dd>{children}</dd>
  </div>
)

/** Updates every second, but is announced only on focus. */
function Countdown({ end }: { end: string }) {
  const { plan } = useMessages()
  const formats = useFormats()
  const left = Date.parse(end) - useNow(1_000)
  return (
    <p
      role="timer"
      aria-live="off"
      title={`${formats.exactTime(end)}\n${formats.utc(end)}`}
      className="figures font-medium"
    >
      {left <= 0 ? plan.resetsNow : plan.resetsIn(formats.duration(Math.max(1_000, Math.ceil(left / 1_000) * 1_000)))}
    </p>
  )
}

/** Nothing is left: for good until the reset, or only while requests run. */
function WindowFull({ window: { left, held, end } }: { window: PlanWindow }) {
  const { plan } = useMessages()
  if (nanoOf(left) > 0n) return null
  const isHeld = nanoOf(held) > 0n
  return (
    <div className="flex gap-2.5 rounded-lg bg-held-wash px-3 py-2">
      <Hourglass aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-held" />
      <div>
        <p className="font-medium text-held">
          {isHeld ? plan.inFlight : end === null ? plan.full('') : <TimeText message={plan.full} at={end} />}
        </p>
        {!isHeld && <p className="text-sm">{plan.fullHint}</p>}
      </div>
    </div>
  )
}

const BESIDE_THE_POINT = ['tokens', 'timing'] as const

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
                <WindowSum bar={bar} rows={rows} hasMore={query.hasNextPage} onAgain={() => void query.refetch()} />
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
  /** The window as it was when the rows were read. */
  readonly bar: PlanWindow
  readonly rows: readonly WindowRow[]
  readonly hasMore: boolean
  readonly onAgain: () => void
}

/** Compares the sum of the rows with the usage shown. */
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

/** The open window is part of the address so that it can be shared. */
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

interface WindowSums {
  readonly used: string
  readonly held: string
  /** `partly`: more rows can be loaded. `moved`: all rows are loaded, but their sum differs. */
  readonly verdict: 'agrees' | 'partly' | 'moved'
}

/** Adds up charges and holds and compares them with the window. */
export function windowSums(
  window: Pick<PlanWindow, 'used' | 'held'>,
  rows: readonly WindowRow[],
  { hasMore }: { hasMore: boolean },
): WindowSums {
  const used = sumMoney(...rows.map(({ charge }) => charge ?? '0'))
  const held = sumMoney(...rows.filter(({ state }) => state === 'open').map(({ hold }) => hold))
  const isSame = nanoOf(used) === nanoOf(window.used) && nanoOf(held) === nanoOf(window.held)
  return { used, held, verdict: hasMore ? 'partly' : isSame ? 'agrees' : 'moved' }
}

export type Plan = AnswerOf<'GET /plan'>
type PlanWindow = Plan['windows'][number]
export type WindowRow = AnswerOf<'GET /plan/windows/:window'>['items'][number]
