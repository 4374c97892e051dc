import { Link, useNavigate } from '@tanstack/react-router'
import { Hourglass, KeyRound } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { isQuota } from '../../lib/cap-kinds.ts'
import { useLetterKey } from '../../lib/letter-keys.ts'
import { isZero, sumMoney } from '../../lib/money.ts'
import { stepLabels } from '../../lib/time-zones.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { type OverviewData, useOverview, useRecentUsage } from '../../queries/account.ts'
import { usePendingFundingRequests } from '../../queries/operate.ts'
import { useMay } from '../../queries/session.ts'
import { AddFundsLink } from '../../shell/AddFundsLink.tsx'
import { buttonClass } from '../../ui/Button.tsx'
import { countedChart, paidChart } from '../../ui/charts/chart-data.ts'
import { StackedBars } from '../../ui/charts/StackedBars.tsx'
import { choicesOf, Segmented } from '../../ui/inputs.tsx'
import { Page, PageHeader, Panel, StatRow, StatTile } from '../../ui/layout.tsx'
import { type QueryState, QueryView } from '../../ui/QueryView.tsx'
import { inputTokens, Meter, Money, MoneyText, TimeText, Tokens } from '../../ui/values.tsx'
import { LatestRequests } from '../requests/RequestTable.tsx'
import { GettingStarted } from './GettingStarted.tsx'

export function OverviewPage() {
  const { shell, overview } = useMessages()
  const account = useOverview()
  const used = useRecentUsage(useFormats().zone)
  const navigate = useNavigate()
  const may = useMay()
  const create = () => void navigate({ to: '/keys', search: { new: 'yes' } })
  useLetterKey('n', overview.newKey, may('member') ? create : undefined)
  return (
    <Page>
      <PageHeader
        title={shell.pageTitles.overview}
        about={overview.about}
        actions={
          <>
            <AddFundsLink />
            {may('member') && (
              <Link to="/keys" search={{ new: 'yes' }} className={buttonClass('primary')}>
                <KeyRound aria-hidden="true" />
                {overview.newKey}
              </Link>
            )}
          </>
        }
      />
      <PendingFundingRequests />
      {account.data !== undefined && may('member') && <GettingStarted account={account.data} />}
      <StatRow>
        <QueryView query={account}>{(data) => <BalanceTiles account={data} />}</QueryView>
        <QueryView query={used}>{(recentUsage) => <TodayTiles recentUsage={recentUsage} />}</QueryView>
      </StatRow>
      <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,5fr)_minmax(0,3fr)] [&>:only-child]:col-span-full">
        <DayChart query={used} />
        {may('viewer') && <PlanPanel query={account} />}
      </div>
      <OwnCaps spent={account.data?.own_caps ?? []} />
      <RecentRequests query={account} />
    </Page>
  )
}

/** What is left of the caps of the signed-in person, across all of their keys. */
function OwnCaps({ spent }: { spent: OverviewData['own_caps'] }) {
  const { overview: messages, common } = useMessages()
  const formats = useFormats()
  if (spent.length === 0) return null
  const names: Readonly<Record<string, string>> = messages.capNames
  return (
    <Panel title={messages.ownCaps}>
      <ul className="grid gap-x-8 gap-y-4 sm:grid-cols-2">
        {spent.map(({ name, used, held, limit, left }) => {
          const label = names[name] ?? name
          const as = isQuota(name) ? 'count' : 'money'
          const written = (amount: string) => (as === 'count' ? formats.count(Number(amount)) : formats.money(amount))
          return (
            <li key={name} className="grid gap-1">
              <span className="font-medium">{label}</span>
              <Meter {...{ label, used, held, limit, left, as }} />
              <span className="text-xs text-faint">{common.meter(written(used), written(limit), written(left))}</span>
            </li>
          )
        })}
      </ul>
    </Panel>
  )
}

/** The funding requests that wait for an operator. */
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

function RecentRequests({ query }: { query: QueryState<OverviewData> }) {
  const { overview: messages } = useMessages()
  const may = useMay()
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
              action: may('member') && (
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

function BalanceTiles({ account: { wallet, keys } }: { account: OverviewData }) {
  const { overview: messages } = useMessages()
  const formats = useFormats()
  return (
    <>
      {wallet !== null && (
        <Tile to="/wallet">
          <StatTile
            label={messages.balance}
            value={<Money amount={wallet.balance} />}
            note={
              isZero(wallet.held) ? (
                messages.nothingHeld
              ) : (
                <MoneyText message={messages.balanceNote} amounts={[wallet.held, wallet.available]} />
              )
            }
          />
        </Tile>
      )}
      <Tile to="/keys">
        <StatTile
          label={messages.keys}
          value={formats.count(keys.active)}
          note={messages.keysNote(formats.count(keys.total))}
        />
      </Tile>
    </>
  )
}

type RecentUsage = AnswerOf<'GET /overview/usage'>

function TodayTiles({ recentUsage }: { recentUsage: RecentUsage }) {
  const { today, refused_today } = recentUsage
  const { overview: messages, requests } = useMessages()
  const formats = useFormats()
  const input = inputTokens(today)
  return (
    <>
      <Tile to="/usage">
        <StatTile
          label={messages.todayCost}
          value={<Money amount={sumMoney(today.wallet, today.plan)} />}
          note={<MoneyText message={messages.todayCostNote} amounts={[today.wallet, today.plan]} />}
        />
      </Tile>
      {/* Refused requests are not in the list of requests; usage has their reasons. */}
      <Tile {...(refused_today === 0 ? { to: '/requests' } : { to: '/usage', search: { range: 'today' } })}>
        <StatTile
          label={messages.todayRequests}
          value={<Tokens count={today.requests} />}
          note={<TodayOutcomes recentUsage={recentUsage} />}
        />
      </Tile>
      <Tile to="/usage" search={{ measure: 'tokens' }}>
        <StatTile
          label={messages.todayTokens}
          value={<Tokens count={input + today.output} />}
          note={requests.inOut(formats.short(input), formats.short(today.output))}
        />
      </Tile>
    </>
  )
}

function TodayOutcomes({ recentUsage: { today, refused_today } }: { recentUsage: RecentUsage }) {
  const { overview: messages } = useMessages()
  const formats = useFormats()
  const ended = today.failed === 0 ? messages.allWell : formats.plural(today.failed, messages.failed)
  const notes = [
    ...(today.requests === 0 ? [] : [ended]),
    ...(refused_today === 0 ? [] : [formats.plural(refused_today, messages.refused)]),
  ]
  return notes.length === 0 ? messages.noneToday : notes.join(', ')
}

interface TileProps {
  readonly to: '/wallet' | '/usage' | '/requests' | '/keys'
  readonly search?: Readonly<Record<string, string>>
  readonly children: ReactNode
}

const Tile = ({ to, search = {}, children }: TileProps) => (
  <Link to={to} search={search} className="grid min-w-0 rounded-md hover:underline">
    {children}
  </Link>
)

type Plan = NonNullable<OverviewData['plan']>

function PlanPanel({ query }: { query: QueryState<OverviewData> }) {
  const { overview: messages } = useMessages()
  const name = query.data?.plan?.plan ?? null
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
        {({ plan }) => plan !== null && <PlanUsage plan={plan} />}
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
        <MoneyText message={messages.left} amounts={[left, limit]} className="figures text-soft" />
      </div>
      <Meter label={title} used={used} held={held} left={left} limit={limit} />
      <p className="text-xs text-faint">
        {opened && end !== null ? <TimeText message={messages.resets} at={end} as="relative" /> : messages.notOpened}
      </p>
    </li>
  )
}

type Hours = RecentUsage['hours']
type Used = Hours[number]['used']
type Measure = 'requests' | 'cost' | 'tokens'

function DayChart({ query }: { query: QueryState<RecentUsage> }) {
  const { overview: messages } = useMessages()
  const [measure, setMeasure] = useState<Measure>('requests')
  return (
    <Panel
      title={messages.day}
      actions={
        <Link to="/usage" className="text-sm text-accent hover:underline">
          {messages.moreUsage}
        </Link>
      }
    >
      <div className="grid gap-3">
        <div>
          <Segmented
            label={messages.measure}
            value={measure}
            options={choicesOf(['requests', 'cost', 'tokens'] as const, messages.measures)}
            onPick={setMeasure}
          />
        </div>
        <QueryView query={query} lines={9}>
          {({ hours }) => <HourBars hours={hours} measure={measure} />}
        </QueryView>
      </div>
    </Panel>
  )
}

function HourBars({ hours, measure }: { hours: Hours; measure: Measure }) {
  const { dayCaption, series } = useMessages().overview
  const formats = useFormats()
  const used = hours.map((hour) => hour.used)
  const begins = hours.map(({ from }) => from)
  const drawn = { caption: dayCaption[measure], steps: stepLabels(begins, 'hour', formats) }
  const part = (id: keyof typeof series, of: (used: Used) => number) => ({
    ...{ id, name: series[id], values: used.map(of) },
  })
  switch (measure) {
    case 'requests': {
      const parts = [part('well', ({ requests, failed }) => requests - failed), part('failed', ({ failed }) => failed)]
      return <StackedBars data={countedChart({ ...drawn, series: parts }, formats)} />
    }
    case 'cost': {
      const payers = (['wallet', 'plan'] as const).map((id) => ({
        ...{ id, name: series[id], amounts: used.map((each) => each[id]) },
      }))
      return <StackedBars data={paidChart({ ...drawn, series: payers }, formats)} />
    }
    case 'tokens': {
      const parts = [
        part('uncached', ({ uncached_input, cache_write }) => uncached_input + cache_write),
        part('cached', ({ cached_input }) => cached_input),
        part('output', ({ output }) => output),
      ]
      return <StackedBars data={countedChart({ ...drawn, series: parts }, formats)} />
    }
  }
}
