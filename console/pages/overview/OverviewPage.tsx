import { Link, useNavigate } from '@tanstack/react-router'
import { Hourglass, KeyRound } from 'lucide-react'
import { useLetterKey } from '../../lib/letter-keys.ts'
import { useLatelyUsed, useOverview } from '../../questions/account.ts'
import { AddFundsLink } from '../../shell/AddFundsLink.tsx'
import { useWaitingWishes } from '../../shell/waiting-wishes.ts'
import { Answer, type Asked } from '../../ui/Answer.tsx'
import { buttonClass } from '../../ui/Button.tsx'
import { Page, PageHeader } from '../../ui/Page.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import { LatestRequests } from '../requests/list/LatestRequests.tsx'
import { DayChart } from './DayChart.tsx'
import { FirstSteps } from './FirstSteps.tsx'
import { PlanPanel } from './PlanPanel.tsx'
import { type Standing, StandingTiles, TodayTiles } from './StandingTiles.tsx'

/** What an owner looks at first: money, the plan, today, and what is running. What the books say does not wait for what was used. */
export function OverviewPage() {
  const { shell, overview } = useWords()
  const standing = useOverview()
  const used = useLatelyUsed(useFormats().zone)
  const navigate = useNavigate()
  useLetterKey('n', overview.newKey, () => void navigate({ to: '/keys', search: { new: 'yes' } }))
  return (
    <Page>
      <PageHeader
        title={shell.areas.overview}
        about={overview.about}
        actions={
          <>
            <AddFundsLink />
            <Link to="/keys" search={{ new: 'yes' }} className={buttonClass('primary')}>
              <KeyRound aria-hidden="true" />
              {overview.newKey}
            </Link>
          </>
        }
      />
      <WaitingWishes />
      {standing.data !== undefined && <FirstSteps standing={standing.data} />}
      <div className="grid gap-3 lg:grid-cols-[2fr_3fr]">
        <div className="grid grid-cols-2 items-stretch gap-3 [&>div]:col-span-full">
          <Answer question={standing}>{(data) => <StandingTiles standing={data} />}</Answer>
        </div>
        <div className="grid grid-cols-2 items-stretch gap-3 lg:grid-cols-3 [&>div]:col-span-full">
          <Answer question={used}>{(lately) => <TodayTiles lately={lately} />}</Answer>
        </div>
      </div>
      <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,5fr)_minmax(0,3fr)]">
        <DayChart question={used} />
        <PlanPanel question={standing} />
      </div>
      <RecentRequests question={standing} />
    </Page>
  )
}

/** For an operator, who lands here: the list of them stands on a page of its own. */
function WaitingWishes() {
  const { shell } = useWords()
  const formats = useFormats()
  const count = useWaitingWishes()
  if (count === 0) return null
  return (
    <Link
      to="/operate/accounts"
      className="flex items-center gap-2.5 rounded-xl border border-line bg-held-wash px-4 py-3 font-medium text-held hover:underline"
    >
      <Hourglass aria-hidden="true" className="size-4 shrink-0" />
      {formats.plural(count, shell.wishes)}
    </Link>
  )
}

/** The latest requests of the account. */
function RecentRequests({ question }: { question: Asked<Standing> }) {
  const { overview: words } = useWords()
  return (
    <Panel
      title={words.recent}
      padding="flush"
      actions={
        <Link to="/requests" className="text-sm text-accent hover:underline">
          {words.moreRequests}
        </Link>
      }
    >
      <Answer question={question} lines={8}>
        {({ recent }) => (
          <LatestRequests
            caption={words.recent}
            requests={recent}
            none={{
              title: words.noRecent.title,
              text: words.noRecent.text,
              action: (
                <Link to="/connect" className={buttonClass('plain')}>
                  {words.noRecent.action}
                </Link>
              ),
            }}
          />
        )}
      </Answer>
    </Panel>
  )
}
