import { Link } from '@tanstack/react-router'
import { Gauge } from 'lucide-react'
import { isZero, shareOf } from '../../lib/money.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { usePlan } from '../../queries/account.ts'
import { useMay } from '../../queries/session.ts'
import { ReturnedNote } from '../../shell/ReturnedNote.tsx'
import { buttonClass } from '../../ui/Button.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Badge, type BadgeTone, Empty, Explained, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Money, Time, TimeText } from '../../ui/values.tsx'
import { PlansSold } from './PlansSold.tsx'
import { type Plan, RowsButton, useOpenWindow, WindowPanel, WindowRows } from './WindowPanel.tsx'

export function PlanPage() {
  const { shell } = useMessages()
  const query = usePlan()
  return (
    <Page>
      <PageHeader title={shell.pageTitles.plan} about={<PlanLine plan={query.data} />} />
      <ReturnedNote page="/plan" />
      <PlansSold />
      <QueryView query={query} lines={8}>
        {(plan) => <PlanBody plan={plan} />}
      </QueryView>
    </Page>
  )
}

function PlanBody({ plan }: { plan: Plan }) {
  return (
    <Page>
      {plan.state === 'active' ? (
        plan.windows.map((window) => <WindowPanel key={window.name} window={window} billingDay={plan.billing_day} />)
      ) : (
        <NoPlan plan={plan} />
      )}
      <PlanExplained />
      {plan.state === 'active' && <PlanModels models={plan.models} />}
      {plan.past.length > 0 && <PastWindows past={plan.past} />}
    </Page>
  )
}

const TONES: Readonly<Record<Plan['state'], BadgeTone>> = {
  active: 'good',
  ended: 'plain',
  none: 'plain',
  not_configured: 'bad',
}

function PlanLine({ plan: given }: { plan: Plan | undefined }) {
  const { plan } = useMessages()
  if (given === undefined || given.plan === null) return plan.about
  const { since, until } = given
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
      <span>
        {plan.aboutActive(given.plan)}
        {since !== null && <TimeText message={(when) => `, ${plan.since(when)}`} at={since} as="day" />}
        {until !== null && <TimeText message={(when) => `, ${plan.until(when)}`} at={until} as="day" />}
      </span>
      <Badge tone={TONES[given.state]}>{plan.states[given.state]}</Badge>
    </span>
  )
}

function NoPlan({ plan: { state, plan: name, until } }: { plan: Plan }) {
  const { plan } = useMessages()
  const mayPay = useMay()('owner')
  const reason = {
    none: { title: plan.none, text: plan.noneText },
    ended: {
      title: plan.ended,
      text:
        until === null ? (
          plan.endedText(name ?? '')
        ) : (
          <TimeText message={(when) => plan.endedOn(name ?? '', when)} at={until} as="day" />
        ),
    },
    not_configured: { title: plan.notConfigured, text: plan.notConfiguredText(name ?? '') },
    active: undefined,
  }[state]
  if (reason === undefined) return null
  const action = mayPay && (
    <Link to="/wallet" className={buttonClass('primary')}>
      {plan.toWallet}
    </Link>
  )
  return (
    <Panel>
      <Empty icon={Gauge} title={reason.title} text={reason.text} action={action} />
    </Panel>
  )
}

const PARTS = ['all', 'full', 'wallet', 'hold'] as const

function PlanExplained() {
  const { explained, explain } = useMessages().plan
  return (
    <Explained title={explained} parts={PARTS.map((id) => ({ id, title: explain[id], text: explain[`${id}Text`] }))} />
  )
}

function PlanModels({ models }: { models: readonly string[] }) {
  const { plan } = useMessages()
  return (
    <Panel title={plan.models} about={plan.modelsAbout}>
      {models.length === 0 ? (
        <p className="text-soft">{plan.noModels}</p>
      ) : (
        <ul className="flex flex-wrap gap-1.5">
          {models.map((model) => (
            <li key={model} className="min-w-0">
              <Link
                to="/models"
                search={{ search: model }}
                className="inline-flex min-h-7 items-center rounded-md bg-sunken px-2 hover:bg-hover hover:text-accent"
              >
                <code className="wrap-anywhere">{model}</code>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

type Past = Plan['past'][number]

function PastWindows({ past }: { past: readonly Past[] }) {
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
    {
      id: 'limit',
      header: plan.allowance,
      align: 'end',
      cell: ({ limit }) => <Money amount={limit} digits="column" />,
    },
    { id: 'used', header: plan.used, align: 'end', cell: ({ used }) => <Money amount={used} digits="column" /> },
    {
      id: 'share',
      header: plan.share,
      align: 'end',
      cell: ({ used, limit }) => {
        const share = shareOf(used, limit)
        // A small share never shows as 0 %.
        return share < 0.005 && !isZero(used) ? `< ${formats.percent(0.01)}` : formats.percent(share)
      },
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
