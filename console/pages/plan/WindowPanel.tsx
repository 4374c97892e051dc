import { Hourglass } from 'lucide-react'
import type { ReactNode } from 'react'
import { useNow } from '../../lib/clock.ts'
import { cx } from '../../lib/cx.ts'
import { nanoOf } from '../../lib/money.ts'
import { Meter } from '../../ui/Meter.tsx'
import { Money, MoneyText } from '../../ui/Money.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { Time, TimeText } from '../../ui/Time.tsx'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { RowsButton, useOpenWindow, WindowRows } from './WindowRows.tsx'
import type { PlanWindow } from './window-sums.ts'

interface WindowPanelProps {
  readonly window: PlanWindow
  readonly billingDay: number | null
}

/** One allowance: how much of it is used, held and left, and when it starts anew. */
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
            <MoneyText say={plan.leftOf} amounts={[limit]} className="figures text-soft" />
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
  /** On a telephone it has a line of its own. */
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

/** How long until a window starts anew, second by second; read aloud only when somebody goes there. */
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

/** What it means that nothing is left: for good until the reset, or only while something runs. */
function WindowFull({ window: { left, held, end } }: { window: PlanWindow }) {
  const { plan } = useMessages()
  if (nanoOf(left) > 0n) return null
  const isHeld = nanoOf(held) > 0n
  return (
    <div className="flex gap-2.5 rounded-lg bg-held-wash px-3 py-2">
      <Hourglass aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-held" />
      <div>
        <p className="font-medium text-held">
          {isHeld ? plan.inFlight : end === null ? plan.full('') : <TimeText say={plan.full} at={end} />}
        </p>
        {!isHeld && <p className="text-sm">{plan.fullHint}</p>}
      </div>
    </div>
  )
}
