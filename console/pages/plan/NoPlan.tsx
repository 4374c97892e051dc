import { Link } from '@tanstack/react-router'
import { Gauge } from 'lucide-react'
import { buttonClass } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { TimeText } from '../../ui/TimeText.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import type { Plan } from './plan-window.ts'

/** Why builder keys can use nothing, and what goes on nevertheless. */
export function NoPlan({ plan: { state, plan: name, until } }: { plan: Plan }) {
  const { plan } = useWords()
  const said = {
    none: { title: plan.none, text: plan.noneText },
    ended: {
      title: plan.ended,
      text:
        until === null ? (
          plan.endedText(name ?? '')
        ) : (
          <TimeText say={(when) => plan.endedOn(name ?? '', when)} at={until} as="day" />
        ),
    },
    not_configured: { title: plan.notConfigured, text: plan.notConfiguredText(name ?? '') },
    active: undefined,
  }[state]
  if (said === undefined) return null
  const action = (
    <Link to="/wallet" className={buttonClass('primary')}>
      {plan.toWallet}
    </Link>
  )
  return (
    <Panel>
      <Empty icon={Gauge} title={said.title} text={said.text} action={action} />
    </Panel>
  )
}
