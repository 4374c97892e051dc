import { Link } from '@tanstack/react-router'
import { QueryView, type QueryState } from '../../ui/QueryView.tsx'
import { Meter } from '../../ui/Meter.tsx'
import { MoneyText } from '../../ui/Money.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { TimeText } from '../../ui/Time.tsx'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import type { OverviewData } from './BalanceTiles.tsx'

type Plan = OverviewData['plan']

/** How much of each window of the plan is left, and when it begins anew. */
export function PlanPanel({ query }: { query: QueryState<OverviewData> }) {
  const { overview: messages } = useMessages()
  const name = query.data?.plan.plan ?? null
  return (
    <Panel
      title={messages.plan}
      {...(name !== null && { about: name })}
      actions={
        <Link to="/plan" className="text-sm text-accent hover:underline">
          {messages.planMore}
        </Link>
      }
    >
      <QueryView query={query} lines={6}>
        {({ plan }) => <PlanUsage plan={plan} />}
      </QueryView>
    </Panel>
  )
}

function PlanUsage({ plan: { state, plan, windows } }: { plan: Plan }) {
  const { overview: messages } = useMessages()
  switch (state) {
    case 'active':
      return (
        <ul className="grid gap-4">
          {windows.map((window) => (
            <WindowLine key={window.name} window={window} />
          ))}
        </ul>
      )
    case 'ended':
      return <p className="text-soft">{messages.planEnded(plan ?? '')}</p>
    case 'none':
      return <p className="text-soft">{messages.planNone}</p>
    case 'not_configured':
      return <p className="text-soft">{messages.planUnknown}</p>
  }
}

function WindowLine({ window: { name, opened, end, used, held, left, limit } }: { window: Plan['windows'][number] }) {
  const { overview: messages } = useMessages()
  const title = useFormats().window(name)
  return (
    <li className="grid gap-1">
      <div className="flex flex-wrap justify-between gap-x-4 text-sm">
        <span className="font-medium">{title}</span>
        <MoneyText say={messages.left} amounts={[left, limit]} className="figures text-soft" />
      </div>
      <Meter label={title} used={used} held={held} left={left} limit={limit} />
      <p className="text-xs text-faint">
        {opened && end !== null ? <TimeText say={messages.resets} at={end} as="relative" /> : messages.notOpened}
      </p>
    </li>
  )
}
