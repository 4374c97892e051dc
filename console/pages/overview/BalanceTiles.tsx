import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { inputTokens } from '../../lib/input-of.ts'
import { isZero, sumMoney } from '../../lib/money.ts'
import { Money, MoneyText } from '../../ui/Money.tsx'
import { StatTile } from '../../ui/StatTile.tsx'
import { Tokens } from '../../ui/Tokens.tsx'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'

export type OverviewData = AnswerOf<'GET /overview'>

/** What the account has: money, and keys to use it with. */
export function BalanceTiles({ account: { wallet, keys } }: { account: OverviewData }) {
  const { overview: messages } = useMessages()
  const formats = useFormats()
  const isHeld = !isZero(wallet.held)
  return (
    <>
      <Tile to="/wallet">
        <StatTile
          label={messages.balance}
          value={<Money amount={wallet.balance} />}
          note={
            isHeld ? <MoneyText say={messages.balanceNote} amounts={[wallet.held, wallet.available]} /> : messages.nothingHeld
          }
        />
      </Tile>
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

export type RecentUsage = AnswerOf<'GET /overview/usage'>

/** What has been used since midnight. */
export function TodayTiles({ recentUsage }: { recentUsage: RecentUsage }) {
  const { today } = recentUsage
  const { overview: messages, requests } = useMessages()
  const formats = useFormats()
  const input = inputTokens(today)
  return (
    <>
      <Tile to="/usage">
        <StatTile
          label={messages.todayCost}
          value={<Money amount={sumMoney(today.wallet, today.plan)} />}
          note={<MoneyText say={messages.todayCostNote} amounts={[today.wallet, today.plan]} />}
        />
      </Tile>
      <Tile to="/requests">
        <StatTile
          label={messages.todayRequests}
          value={<Tokens count={today.requests} />}
          note={<TodayOutcomes recentUsage={recentUsage} />}
        />
      </Tile>
      <Tile to="/usage" search={{ measure: 'tokens' }} className="max-lg:col-span-2">
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
  readonly className?: string
  readonly children: ReactNode
}

/** One number that leads to the page that explains it. */
const Tile = ({ to, search = {}, className = '', children }: TileProps) => (
  <Link
    to={to}
    search={search}
    className={`grid min-w-0 rounded-xl transition-shadow hover:ring-1 hover:ring-edge ${className}`}
  >
    {children}
  </Link>
)
