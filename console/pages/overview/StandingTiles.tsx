import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { inputOf } from '../../lib/input-of.ts'
import { isZero, sumMoney } from '../../lib/money.ts'
import { Money, MoneyText } from '../../ui/Money.tsx'
import { StatTile } from '../../ui/StatTile.tsx'
import { Tokens } from '../../ui/Tokens.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'

export type Standing = AnswerOf<'GET /overview'>

/** What the account has: money, and keys to use it with. */
export function StandingTiles({ standing: { wallet, keys } }: { standing: Standing }) {
  const { overview: words } = useWords()
  const formats = useFormats()
  const isHeld = !isZero(wallet.held)
  return (
    <>
      <Tile to="/wallet">
        <StatTile
          label={words.balance}
          value={<Money amount={wallet.balance} />}
          note={
            isHeld ? <MoneyText say={words.balanceNote} amounts={[wallet.held, wallet.available]} /> : words.nothingHeld
          }
        />
      </Tile>
      <Tile to="/keys">
        <StatTile
          label={words.keys}
          value={formats.count(keys.active)}
          note={words.keysNote(formats.count(keys.total))}
        />
      </Tile>
    </>
  )
}

export type LatelyUsed = AnswerOf<'GET /overview/usage'>

/** What has been used since midnight. */
export function TodayTiles({ lately }: { lately: LatelyUsed }) {
  const { today } = lately
  const { overview: words, requests } = useWords()
  const formats = useFormats()
  const input = inputOf(today)
  return (
    <>
      <Tile to="/usage">
        <StatTile
          label={words.todayCost}
          value={<Money amount={sumMoney(today.wallet, today.plan)} />}
          note={<MoneyText say={words.todayCostNote} amounts={[today.wallet, today.plan]} />}
        />
      </Tile>
      <Tile to="/requests">
        <StatTile
          label={words.todayRequests}
          value={<Tokens count={today.requests} />}
          note={<HowTodayWent lately={lately} />}
        />
      </Tile>
      <Tile to="/usage" search={{ measure: 'tokens' }} className="max-lg:col-span-2">
        <StatTile
          label={words.todayTokens}
          value={<Tokens count={input + today.output} />}
          note={requests.inOut(formats.short(input), formats.short(today.output))}
        />
      </Tile>
    </>
  )
}

function HowTodayWent({ lately: { today, refused_today } }: { lately: LatelyUsed }) {
  const { overview: words } = useWords()
  const formats = useFormats()
  const ended = today.failed === 0 ? words.allWell : formats.plural(today.failed, words.failed)
  const notes = [
    ...(today.requests === 0 ? [] : [ended]),
    ...(refused_today === 0 ? [] : [formats.plural(refused_today, words.refused)]),
  ]
  return notes.length === 0 ? words.noneToday : notes.join(', ')
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
