import { Link, useNavigate } from '@tanstack/react-router'
import { Hourglass, KeyRound } from 'lucide-react'
import { useLetterKey } from '../../lib/letter-keys.ts'
import { useRecentUsage, useOverview } from '../../queries/account.ts'
import { AddFundsLink } from '../../shell/AddFundsLink.tsx'
import { usePendingFundingRequests } from '../../shell/usePendingFundingRequests.ts'
import { QueryView, type QueryState } from '../../ui/QueryView.tsx'
import { buttonClass } from '../../ui/Button.tsx'
import { Page, PageHeader } from '../../ui/Page.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { LatestRequests } from '../requests/list/LatestRequests.tsx'
import { DayChart } from './DayChart.tsx'
import { GettingStarted } from './GettingStarted.tsx'
import { PlanPanel } from './PlanPanel.tsx'
import { type OverviewData, BalanceTiles, TodayTiles } from './BalanceTiles.tsx'

/** What an owner looks at first: money, the plan, today, and what is running. What the books say does not wait for what was used. */
export function OverviewPage() {
  const { shell, overview } = useMessages()
  const account = useOverview()
  const used = useRecentUsage(useFormats().zone)
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
      <PendingFundingRequests />
      {account.data !== undefined && <GettingStarted account={account.data} />}
      <div className="grid gap-3 lg:grid-cols-[2fr_3fr]">
        <div className="grid grid-cols-2 items-stretch gap-3 [&>div]:col-span-full">
          <QueryView query={account}>{(data) => <BalanceTiles account={data} />}</QueryView>
        </div>
        <div className="grid grid-cols-2 items-stretch gap-3 lg:grid-cols-3 [&>div]:col-span-full">
          <QueryView query={used}>{(recentUsage) => <TodayTiles recentUsage={recentUsage} />}</QueryView>
        </div>
      </div>
      <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,5fr)_minmax(0,3fr)]">
        <DayChart query={used} />
        <PlanPanel query={account} />
      </div>
      <RecentRequests query={account} />
    </Page>
  )
}

/** For an operator, who lands here: the list of them stands on a page of its own. */
function PendingFundingRequests() {
  const { shell } = useMessages()
  const formats = useFormats()
  const count = usePendingFundingRequests()
  if (count === 0) return null
  return (
    <Link
      to="/operate/accounts"
      className="flex items-center gap-2.5 rounded-xl border border-line bg-held-wash px-4 py-3 font-medium text-held hover:underline"
    >
      <Hourglass aria-hidden="true" className="size-4 shrink-0" />
      {formats.plural(count, shell.fundingRequests)}
    </Link>
  )
}

/** The latest requests of the account. */
function RecentRequests({ query }: { query: QueryState<OverviewData> }) {
  const { overview: messages } = useMessages()
  return (
    <Panel
      title={messages.recent}
      padding="flush"
      actions={
        <Link to="/requests" className="text-sm text-accent hover:underline">
          {messages.moreRequests}
        </Link>
      }
    >
      <QueryView query={query} lines={8}>
        {({ recent }) => (
          <LatestRequests
            caption={messages.recent}
            requests={recent}
            none={{
              title: messages.noRecent.title,
              text: messages.noRecent.text,
              action: (
                <Link to="/connect" className={buttonClass('plain')}>
                  {messages.noRecent.action}
                </Link>
              ),
            }}
          />
        )}
      </QueryView>
    </Panel>
  )
}
