import { Link, useNavigate } from '@tanstack/react-router'
import { KeyRound, Wallet } from 'lucide-react'
import { useLetterKey } from '../../lib/useLetterKey.ts'
import { useOverview } from '../../questions/useOverview.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { Page } from '../../ui/Page.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { Answer } from '../../ui/Panel.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import { DayChart } from './DayChart.tsx'
import { FirstSteps } from './FirstSteps.tsx'
import { PlanPanel } from './PlanPanel.tsx'
import { RecentRequests } from './RecentRequests.tsx'
import { StandingTiles } from './StandingTiles.tsx'

/** What an owner looks at first: money, the plan, today, and what is running. */
export function OverviewPage() {
  const { shell, overview } = useWords()
  const question = useOverview(useFormats().zone)
  const navigate = useNavigate()
  useLetterKey('n', overview.newKey, () => void navigate({ to: '/keys', search: { new: 'yes' } }))
  return (
    <Page>
      <PageHeader
        title={shell.areas.overview}
        about={overview.about}
        actions={
          <>
            <Link to="/wallet" className={buttonClass('plain')}>
              <Wallet aria-hidden="true" />
              {overview.addFunds}
            </Link>
            <Link to="/keys" search={{ new: 'yes' }} className={buttonClass('primary')}>
              <KeyRound aria-hidden="true" />
              {overview.newKey}
            </Link>
          </>
        }
      />
      <Answer question={question} lines={12}>
        {(standing) => (
          <>
            <FirstSteps standing={standing} />
            <StandingTiles standing={standing} />
            <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,5fr)_minmax(0,3fr)]">
              <DayChart hours={standing.hours} />
              <PlanPanel plan={standing.plan} />
            </div>
            <RecentRequests requests={standing.recent} />
          </>
        )}
      </Answer>
    </Page>
  )
}
