import { usePlan } from '../../questions/usePlan.ts'
import { Badge, type BadgeTone } from '../../ui/Badge.tsx'
import { Page } from '../../ui/Page.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { Answer } from '../../ui/Panel.tsx'
import { TimeText } from '../../ui/TimeText.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { NoPlan } from './NoPlan.tsx'
import { PastWindows } from './PastWindows.tsx'
import { PlanExplained } from './PlanExplained.tsx'
import { PlanModels } from './PlanModels.tsx'
import type { Plan } from './plan-window.ts'
import { WindowPanel } from './WindowPanel.tsx'

/** The subscription: what builder keys may use, and how much of it is left. */
export function PlanPage() {
  const { shell } = useWords()
  const question = usePlan()
  return (
    <Page>
      <PageHeader title={shell.areas.plan} about={<PlanLine plan={question.data} />} />
      <Answer question={question} lines={8}>
        {(plan) => <PlanBody plan={plan} />}
      </Answer>
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

/** Which plan, since when and until when. */
function PlanLine({ plan: given }: { plan: Plan | undefined }) {
  const { plan } = useWords()
  if (given === undefined || given.plan === null) return plan.about
  const { since, until } = given
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
      <span>
        {plan.aboutActive(given.plan)}
        {since !== null && <TimeText say={(when) => `, ${plan.since(when)}`} at={since} as="day" />}
        {until !== null && <TimeText say={(when) => `, ${plan.until(when)}`} at={until} as="day" />}
      </span>
      <Badge tone={TONES[given.state]}>{plan.states[given.state]}</Badge>
    </span>
  )
}
