import { Link } from '@tanstack/react-router'
import { Answer, type Asked } from '../../ui/Answer.tsx'
import { Meter } from '../../ui/Meter.tsx'
import { MoneyText } from '../../ui/Money.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { TimeText } from '../../ui/Time.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import type { Standing } from './StandingTiles.tsx'

type Plan = Standing['plan']

/** How much of each window of the plan is left, and when it begins anew. */
export function PlanPanel({ question }: { question: Asked<Standing> }) {
  const { overview: words } = useWords()
  const name = question.data?.plan.plan ?? null
  return (
    <Panel
      title={words.plan}
      {...(name !== null && { about: name })}
      actions={
        <Link to="/plan" className="text-sm text-accent hover:underline">
          {words.planMore}
        </Link>
      }
    >
      <Answer question={question} lines={6}>
        {({ plan }) => <PlanStanding plan={plan} />}
      </Answer>
    </Panel>
  )
}

function PlanStanding({ plan: { state, plan, windows } }: { plan: Plan }) {
  const { overview: words } = useWords()
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
      return <p className="text-soft">{words.planEnded(plan ?? '')}</p>
    case 'none':
      return <p className="text-soft">{words.planNone}</p>
    case 'not_configured':
      return <p className="text-soft">{words.planUnknown}</p>
  }
}

function WindowLine({ window: { name, opened, end, used, held, left, limit } }: { window: Plan['windows'][number] }) {
  const { overview: words } = useWords()
  const title = useFormats().window(name)
  return (
    <li className="grid gap-1">
      <div className="flex flex-wrap justify-between gap-x-4 text-sm">
        <span className="font-medium">{title}</span>
        <MoneyText say={words.left} amounts={[left, limit]} className="figures text-soft" />
      </div>
      <Meter label={title} used={used} held={held} left={left} limit={limit} />
      <p className="text-xs text-faint">
        {opened && end !== null ? <TimeText say={words.resets} at={end} as="relative" /> : words.notOpened}
      </p>
    </li>
  )
}
